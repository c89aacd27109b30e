export { hashApiKey, newApiKeyText } from './api-key-text.ts';
export type { AuthenticateSession, StoredApiKey } from './auth.ts';
export { unauthenticated } from './bearer.ts';
export { type JwtPrincipal, personScopes } from './jwt.ts';
export { makerSchema } from './maker-schema.ts';
export { parseReasonField } from './operator-access.ts';
export { administratorHeaders, operatorHeaders } from './operator-headers.ts';
export { type Maker, makerOf, type Principal, type Scope, scopes } from './principal.ts';
export {
  administrator,
  type RecordAccess,
  readAsTenant,
  type TenantAccess,
} from './tenant-access.ts';

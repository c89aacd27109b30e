export { hashApiKey, newApiKeyText } from './api-key-text.ts';
export type { AuthenticateSession, StoredApiKey } from './auth.ts';
export { unauthenticated } from './bearer.ts';
export { personScopes } from './jwt.ts';
export {
  accessReasonHeader,
  headerValues,
  parseAccessReason,
  parseReasonField,
} from './operator-access.ts';
export { operatorHeaders } from './operator-headers.ts';
export { type Principal, type Scope, scopes } from './principal.ts';
export { type RecordAccess, readAsTenant, type TenantAccess } from './tenant-access.ts';

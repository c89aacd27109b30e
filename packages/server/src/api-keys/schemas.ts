import { scopes } from '@indelible/protocol';
import { makerSchema } from '../access/principal.ts';
import {
  described,
  exact,
  label,
  named,
  nullable,
  pathPart,
  time,
  timeOrNull,
  uuid,
  uuidOrOwnId,
} from '../http/field-schemas.ts';
import { pageOf } from '../http/keyset-page.ts';
import { Type } from '../http/type.ts';

const tenantParam = { id: uuidOrOwnId('The tenant.') };
const keyParam = { keyId: pathPart("The key's id.") };

/** Paths of a tenant's keys, and of the platform's. */
export const tenantKeys = {
  kind: 'Tenant',
  url: '/api/tenants/:id/api-keys',
  params: exact(tenantParam),
  keyParams: exact({ ...tenantParam, ...keyParam }),
} as const;
export const platformKeys = {
  kind: 'Platform',
  url: '/api/api-keys',
  params: exact({}),
  keyParams: exact(keyParam),
} as const;

const keyScopes = Type.Array(Type.Enum([...scopes]), {
  minItems: 1,
  maxItems: scopes.length,
  uniqueItems: true,
  description:
    'What the key may do; no scope implies another. A credential grants only scopes that ' +
    'it has. Only platform-bound credentials grant `tenants:write` and ' +
    '`viewer-links:write`.',
});

const allowedIps = Type.Unsafe<string[] | null>({
  type: ['array', 'null'],
  items: { type: 'string', format: 'ip-range', maxLength: 64 },
  minItems: 1,
  maxItems: 50,
  description: 'Addresses and networks that the key may be used from; absent or `null`: all.',
  examples: [['192.0.2.0/24', '2001:db8::7']],
});

export const ApiKeyInput = named('ApiKeyInput', {
  name: label('What the key is for.'),
  scopes: keyScopes,
  expiresAt: Type.Optional(
    nullable({
      format: 'date-time',
      description:
        'When the key expires; must be in the future. Absent or `null`: it never expires.',
    }),
  ),
  allowedIps: Type.Optional(allowedIps),
});

const shown = {
  id: uuid('Also `recordedBy.id` of what the key records.'),
  name: Type.String(),
  scopes: keyScopes,
  createdAt: time('When it was made.'),
  expiresAt: nullable({ format: 'date-time' }),
  tenantId: nullable({ format: 'uuid', description: '`null`: bound to the platform.' }),
  allowedIps,
  lastUsedAt: timeOrNull('Within ten minutes; `null`: never.'),
  madeBy: makerSchema('Which key made it; `null` for one made before that was kept.'),
};

export const NewApiKey = described('NewApiKey', 'The new key.', {
  ...shown,
  key: Type.String({
    pattern: '^idl_[0-7][0-9a-hjkmnp-tv-z]{25}_[A-Za-z0-9_-]{43}$',
    description: 'The key itself. Shown this once: only its hash is stored.',
  }),
});

export const ApiKey = named('ApiKey', {
  ...shown,
  revokedAt: nullable({
    format: 'date-time',
    description: '`null` while the key is not revoked.',
  }),
});

export const ApiKeyPage = pageOf(
  'ApiKeyPage',
  ApiKey,
  'One page of keys, oldest first; revoked and expired ones too.',
);

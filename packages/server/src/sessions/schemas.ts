import { emailLengthMax, panelHome, panelPathMax, panelRoot, scopes } from '@indelible/protocol';
import { makerSchema } from '../access/principal.ts';
import {
  described,
  exact,
  named,
  nullable,
  ownId,
  reason,
  time,
  uuid,
  uuidOrOwnId,
} from '../http/field-schemas.ts';
import { pageOf } from '../http/keyset-page.ts';
import { Type } from '../http/type.ts';

const role = Type.Enum(['admin', 'superadmin'], {
  description: '`admin`: of this tenant. `superadmin`: an operator, who needs a reason.',
});
const email = nullable({ format: 'email', maxLength: emailLengthMax });

const ttlSecondsMax = 900;
export const ttlSecondsDefault = 300;

export const ViewerLinkInput = named('ViewerLinkInput', {
  tenantId: uuidOrOwnId('Whose log is opened.'),
  actor: exact(
    { id: uuidOrOwnId('Of the person.'), email, role },
    'Who looks. An operator has an e-mail address.',
  ),
  reason: Type.Optional(
    reason("Why an operator looks: the tenant sees it, and an admin's is not used"),
  ),
  ttlSeconds: Type.Optional(
    Type.Integer({ minimum: 1, maximum: ttlSecondsMax, default: ttlSecondsDefault }),
  ),
  path: Type.Optional(
    nullable({
      format: 'panel-path',
      maxLength: panelPathMax,
      description: `Which page is opened: a path below \`${panelRoot}\`, percent-encoded.`,
      examples: [`${panelHome}?action=delete`],
    }),
  ),
});

export const ViewerLink = described('ViewerLink', 'The link.', {
  url: Type.String({ description: 'Opens the panel, once. It is a secret until then.' }),
  expiresAt: time('From then on it opens nothing.'),
});

export const SignIn = described('SignIn', 'Either `token` or `jwt`.', {
  token: Type.Optional(
    Type.String({ maxLength: 200, description: "What stands behind a viewer link's `#`." }),
  ),
  jwt: Type.Optional(
    Type.String({ maxLength: 16_384, description: 'A token of the host product.' }),
  ),
  tenantId: Type.Optional(ownId("With an operator's `jwt`: whose log. A UUID, or your own id.")),
  reason: Type.Optional(reason("With an operator's `jwt`: why")),
});

const Tenant = exact({
  id: uuid('The tenant.'),
  externalId: ownId('Your own id of the tenant; `null`: a UUID.'),
  name: Type.String(),
  plan: Type.String(),
  locale: Type.String(),
  timeZone: Type.String(),
  restoreUrl: Type.Boolean({ description: 'Whether former states can be restored.' }),
  closedAt: Type.Optional(time('Since when the tenant has left; only then.')),
});

const visit = {
  actor: exact({
    id: uuid('Who is signed in.'),
    externalId: ownId('Your own id of the person; `null`: a UUID.'),
    email,
    role,
  }),
  crossTenant: Type.Boolean({ description: 'Whether an operator looks in from outside.' }),
  reason: nullable({ description: 'What the operator declared; `null` for an admin.' }),
  openedBy: makerSchema('Which key made the link; `null` for a token.'),
  expiresAt: time('When it ends at the latest.'),
  idleExpiresAt: time('When it ends without use.'),
};

export const Session = described('Session', 'Who is signed in, and to which tenant.', {
  ...visit,
  tenant: Tenant,
  scopes: Type.Array(Type.Enum([...scopes])),
  sensitiveAccess: Type.Union(
    [
      exact({ resourceTypes: Type.Array(Type.String()), actions: Type.Array(Type.String()) }),
      Type.Null(),
    ],
    { description: 'What the page of that name counts; `null`: the catalogue names nothing.' },
  ),
  path: nullable({ description: 'Where the viewer link leads; in the answer to signing in.' }),
});

const OpenSession = named('OpenSession', {
  id: Type.String({ pattern: '^sess_[0-7][0-9a-hjkmnp-tv-z]{25}$' }),
  ...visit,
  signedInBy: Type.Enum(['viewer_link', 'jwt']),
  isOwn: Type.Boolean({ description: 'Whether it is the session that asks.' }),
  createdAt: time('When it began.'),
});

export const OpenSessionPage = pageOf(
  'OpenSessionPage',
  OpenSession,
  'One page of sessions, newest first.',
);

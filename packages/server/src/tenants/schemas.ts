import { locales, type Plans } from '@indelible/protocol';
import {
  described,
  emails,
  exact,
  label,
  nullable,
  ownId,
  strict,
  time,
  uuid,
  uuidOrOwnId,
} from '../http/field-schemas.ts';
import { pageOf } from '../http/keyset-page.ts';
import { Type } from '../http/type.ts';
import { outboundUrlMax } from '../outbound/outbound-url.ts';
import { digests } from './tenant-settings.ts';

const plan = { description: 'Name of a plan of this service: how long events are kept.' };
const settings = {
  name: label('What people call the tenant.'),
  plan: Type.String(plan),
  locale: Type.Enum([...locales], { description: 'Language of mail and panel; `en` at first.' }),
  timeZone: Type.String({
    format: 'time-zone',
    maxLength: 64,
    description: 'IANA time zone in which times are shown; `UTC` at first.',
    examples: ['Europe/Madrid', 'America/Sao_Paulo'],
  }),
  notifyEmails: emails(
    'Who is mailed about exports, failing webhooks, weakened retention and changes of this list.',
  ),
  digest: Type.Enum([...digests], {
    description:
      'How often `notifyEmails` get a digest: operator visits and their reasons, alerts, exports, and the ' +
      'state of the log; `none` at first.',
  }),
  restoreUrl: nullable({
    format: 'outbound-url',
    maxLength: outboundUrlMax,
    description:
      'Called to restore a former state: https to a public address; `null` removes it. Setting another ' +
      'URL makes a new `restoreSecret`.',
  }),
  legalHold: Type.Boolean({ description: 'While true, nothing is hidden or removed by age.' }),
};

export const TenantParams = exact({ id: uuidOrOwnId('The tenant.') });

/** The body of PUT: omitted fields keep their value; a new tenant needs name and plan. */
export const tenantChange = ({ names }: Plans) =>
  Type.Partial(Type.Object({ ...settings, plan: Type.Enum(names, plan) }), {
    ...strict,
    title: 'TenantChange',
    description: 'Omitted fields keep their value; a new tenant needs `name` and `plan`.',
  });

const shown = {
  id: uuid('Chosen by the host product, or derived from its own id.'),
  externalId: ownId('The own id of the host product; `null`: it names the tenant by the UUID.'),
  ...settings,
  createdAt: time('When it was created here.'),
  updatedAt: time('When a setting last changed.'),
  closedAt: Type.Optional(
    time('Only of a tenant that was offboarded or abandoned: since when it takes no more events.'),
  ),
};

export const Tenant = described('Tenant', 'The tenant as it is now.', shown);

const restoreSecret = Type.String({
  pattern: '^whsec_[A-Za-z0-9+/]{43}=$',
  description: 'Signs restore calls (Standard Webhooks); shown this once, when the URL is set.',
});

export const WrittenTenant = described('WrittenTenant', 'The tenant as it is now.', {
  ...shown,
  restoreSecret: Type.Optional(restoreSecret),
});

export const TenantPage = pageOf('TenantPage', Tenant, 'One page of tenants, by id.');

import { type Category, defaultCatalogue } from '@indelible/protocol';
import { type EventFields, type EventParts, summary } from './event-parts.ts';

/**
 * The document of an event: fields of the Elastic Common Schema 8 where they exist (elastic.co,
 * "ECS field reference" and "ECS categorization fields"), and the whole event under `indelible`.
 * There the diff is one text by default: as an object, each changed field becomes a mapped field,
 * whose first value decides its type permanently.
 */
export function ecsDocument(parts: EventParts, flatDiff: boolean): string {
  const { fields } = parts;
  const { actor } = fields;
  const head = JSON.stringify({
    '@timestamp': fields.timestamp,
    ecs: { version: '8.11.0' },
    message: summary(fields),
    event: {
      kind: 'event',
      dataset: 'indelible.audit',
      id: fields.id,
      action: fields.action,
      category: categoriesOf(fields),
      type: typesOf(fields),
      outcome: outcomes.get(fields.action),
      reason: fields.reason ?? undefined,
      sequence: fields.sequence,
      created: fields.receivedAt,
    },
    user: { id: actor.id, email: actor.email ?? undefined, roles: [actor.role] },
    source: actor.ip === null ? undefined : { ip: actor.ip },
    user_agent: actor.userAgent === null ? undefined : { original: actor.userAgent },
    organization: { id: fields.tenantId },
  });
  const whole = flatDiff ? parts.textWithFlatDiff : parts.text;
  return `${head.slice(0, -1)},"indelible":${whole}}`;
}

// The schema allows only its own words. Ours are in `indelible.category`.
const categories: Record<Exclude<Category, 'cross_tenant'>, readonly string[]> = {
  configuration: ['configuration'],
  data_access: ['database'],
  security: ['authentication'],
  integration: ['api'],
};
const accounts = ['mfa_configured', 'password_changed'];
// Maps, because `constructor` is a valid action and a member of every plain object.
const outcomes = new Map([
  ['login', 'success'],
  ['login_failed', 'failure'],
]);

/** `cross_tenant` names the actor's kind; the action decides the rest. */
function actionCategory({ action, category }: EventFields): keyof typeof categories {
  const own = category === 'cross_tenant' ? defaultCatalogue.categoryOf(action, false) : category;
  return own in categories ? (own as keyof typeof categories) : 'configuration';
}

function categoriesOf(fields: EventFields): readonly string[] {
  return accounts.includes(fields.action) ? ['iam'] : categories[actionCategory(fields)];
}

const types = new Map<string, readonly string[]>([
  ['create', ['creation']],
  ['delete', ['deletion']],
  ['login', ['start']],
  ['login_failed', ['start']],
  ['logout', ['end']],
  ['session_forced', ['end']],
  ['connect', ['start']],
  ['disconnect', ['end']],
  ['mfa_configured', ['user', 'change']],
  ['password_changed', ['user', 'change']],
]);
const typesByCategory: Record<keyof typeof categories, readonly string[]> = {
  configuration: ['change'],
  data_access: ['access'],
  security: ['info'],
  integration: ['info'],
};

function typesOf(fields: EventFields): readonly string[] {
  return types.get(fields.action) ?? typesByCategory[actionCategory(fields)];
}

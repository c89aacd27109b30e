import { type Category, defaultCatalogue, outcomeSaid, type Party } from '@indelible/protocol';
import { type EventFields, type EventParts, summary } from './event-parts.ts';

/**
 * The document of an event: fields of the Elastic Common Schema 8 where they exist (elastic.co,
 * "ECS field reference" and "ECS categorization fields"), and the whole event under `indelible`.
 * There diff and metadata are texts by default: as objects, each of their fields becomes a mapped
 * field, whose first value decides its type permanently.
 */
export function ecsDocument(parts: EventParts, flatDiff: boolean): string {
  const { fields } = parts;
  const { actor, onBehalfOf: [person] = [], traceId } = fields;
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
      outcome: outcomeIn(fields),
      reason: fields.reason ?? undefined,
      sequence: fields.sequence,
      created: fields.receivedAt,
    },
    user: { ...userOf(actor), effective: person && userOf(person) },
    trace: traceId === undefined ? undefined : { id: traceId },
    source: actor.ip === null ? undefined : { ip: actor.ip },
    user_agent: actor.userAgent === null ? undefined : { original: actor.userAgent },
    organization: { id: fields.tenantId },
  });
  const whole = flatDiff ? parts.flatText : parts.text;
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

/** The schema has no word for a denied action. */
function outcomeIn({ outcome, action }: EventFields): 'success' | 'failure' | undefined {
  const said = outcomeSaid(outcome, action);
  if (said === null) return action === 'login' ? 'success' : undefined;
  return said === 'success' ? said : 'failure';
}

/** `user` is who acted; `user.effective` is the nearest person for whom it acted. */
function userOf({ id, email, name, role }: Party) {
  const roles = role === undefined ? undefined : [role];
  return { id, email: email ?? undefined, full_name: name, roles };
}

/** `cross_tenant` names the actor's kind; the action decides the rest. */
function actionCategory({ action, category }: EventFields): keyof typeof categories {
  const own = category === 'cross_tenant' ? defaultCatalogue.categoryOf(action, false) : category;
  return own in categories ? (own as keyof typeof categories) : 'configuration';
}

function categoriesOf(fields: EventFields): readonly string[] {
  return accounts.includes(fields.action) ? ['iam'] : categories[actionCategory(fields)];
}

// A map, because `constructor` is a valid action and a member of every plain object.
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

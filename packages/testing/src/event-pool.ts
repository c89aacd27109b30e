import { randomUUID } from 'node:crypto';
import {
  eventIdFromUuid,
  eventWords,
  importedEventUuid,
  wordMatches,
  wordsOf,
} from '@indelible/protocol';
import { eventOf, post, type TestService } from './service.ts';

/* A data set for queries, and the slow and obvious way to answer them. */

/** The columns that lists filter, sort and count by, as the owner sees them in the table. */
export interface StoredFacts {
  id: string;
  uuid: string;
  timeMs: number;
  sequence: number;
  retentionClass: number;
  actorId: string;
  email: string | null;
  action: string;
  resourceType: string;
  resourceId: string;
  crossTenant: boolean;
  category: string;
  ip: string | null;
  words: ReadonlySet<string>;
}

/** Facet parameters as in a query: every value, with its `!` if excluded. */
export type Facets = Partial<
  Record<
    'user' | 'action' | 'resource' | 'resource_id' | 'cross_tenant' | 'category' | 'ip' | 'q',
    string[]
  >
>;

export interface Question extends Facets {
  from?: number;
  to?: number;
}

const uuid = (kind: number, index: number) =>
  `${kind}0000000-0000-4000-8000-${String(index).padStart(12, '0')}`;

const people = [
  { id: uuid(1, 0), email: 'Ana@Example.com' },
  { id: uuid(1, 1), email: 'ana@example.COM' }, // another account of the same address
  { id: uuid(1, 0), email: 'ana.new@example.com' }, // another address of the same account
  { id: uuid(1, 2), email: 'ZOË@example.com' },
  { id: uuid(1, 3), email: '_under@example.com' },
  { id: uuid(1, 4), email: '𝒳@example.com' }, // sorts behind U+FFxx by bytes, before it by UTF-16
  { id: uuid(1, 5), email: 'ｆull@example.com' },
  { id: uuid(1, 6), email: null },
];
const actions = ['create', 'update', 'delete', 'access', 'login', 'send'];
const addresses = ['203.0.113.7', '2001:db8::1', null];
const resources = ['queue', 'ivr', 'did', 'recording', 'session'];

/** Values to filter by: all in the pool, other spellings of them, and unknown ones. */
export const poolValues = {
  user: [...people.flatMap(({ id, email }) => [id, email ?? 'nobody@example.com']), uuid(1, 99)],
  action: [...actions, 'unheard_of'],
  resource: [...resources, 'tenant', 'unheard_of'],
  resource_id: [0, 1, 2, 3, 99].map((index) => uuid(2, index)),
  cross_tenant: ['true', 'false'],
  category: ['configuration', 'data_access', 'security', 'integration', 'cross_tenant'],
  ip: ['203.0.113.7', '2001:db8::1', '198.51.100.9'],
  q: ['queue', 'zoe EXAMPLE', 'rec 2001:db8', 'ivr 1', '117', 'full', 'n', 'no such word'],
} as const;

/** A small deterministic generator: the same pool at every run, so that failures repeat. */
export function generator(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const day = 86_400_000;

/** Events of the last `days` days, many of them in the same millisecond. */
export function poolEvents(count: number, nowMs: number, days: number, seed = 1): unknown[] {
  const random = generator(seed);
  return Array.from({ length: count }, (_, index) => {
    const person = people[random(people.length)];
    const type = resources[random(resources.length)];
    const stamp = nowMs - random(60) * Math.floor((days * day) / 60) - random(2);
    const id = importedEventUuid(stamp, random(4_096), Buffer.from(randomUUID()));
    return {
      id: eventIdFromUuid(id),
      actor: {
        ...person,
        ip: addresses[index % 3],
        role: random(8) === 0 ? 'superadmin' : 'admin',
      },
      action: actions[random(actions.length)],
      resource: { type, id: uuid(2, random(4)), name: `${type} ${index}` },
      diff: { n: { from: index, to: index + 1 } },
    };
  });
}

/** Records an event, which must be new; returns the answer. */
export async function recordOne({ app }: TestService, key: string, event: object) {
  const { status, body } = await post(app, key, event);
  if (status === 201) return body;
  throw new Error(`not recorded: ${JSON.stringify(body)}`);
}

/** Records events, which must be new, in batches of 1,000; returns id and place of each. */
export async function recordAll(
  { app }: TestService,
  key: string,
  events: readonly unknown[],
): Promise<{ id: string; sequence: number }[]> {
  const recorded = [];
  for (let at = 0; at < events.length; at += 1_000) {
    const { body } = await post(app, key, { events: events.slice(at, at + 1_000) });
    const results: { status: string }[] = body.results ?? [body];
    const odd = results.find(({ status }) => status !== 'created');
    if (odd) throw new Error(`not recorded: ${JSON.stringify(odd)}`);
    recorded.push(...body.results);
  }
  return recorded;
}

/** Records so many events that differ in their ids alone. */
export function recordMany(service: TestService, key: string, count: number, changes: object = {}) {
  return recordAll(
    service,
    key,
    Array.from({ length: count }, () => eventOf({ ...changes })),
  );
}

/** A tenant with events in the classes pro, enterprise and held, over five months. */
export async function tenantWithPool(service: TestService, count: number) {
  const tenant = await service.tenant('Pro');
  const put = (body: unknown) =>
    service.call({ method: 'PUT', url: `/api/tenants/${tenant.id}`, body });
  const events = poolEvents(count, service.clock.now, 150);
  const third = Math.ceil(count / 3);
  await recordAll(service, tenant.key, events.slice(0, third));
  await put({ plan: 'Enterprise' });
  await recordAll(service, tenant.key, events.slice(third, 2 * third));
  await put({ legalHold: true });
  await recordAll(service, tenant.key, events.slice(2 * third));
  return tenant;
}

/** All stored events of a tenant, read without the code under test. */
export async function storedFacts(service: TestService, tenantId: string): Promise<StoredFacts[]> {
  const { rows } = await service.owner.query(
    `SELECT id AS uuid, sequence::float8, retention_class AS "retentionClass", actor_id AS "actorId",
       actor_email AS email, action, resource_type AS "resourceType", resource_id AS "resourceId",
       cross_tenant AS "crossTenant", category, actor_ip AS ip, actor_role, resource_name, diff::text
     FROM audit_events WHERE tenant_id = $1`,
    [tenantId],
  );
  return rows.map((row) => ({
    ...row,
    id: eventIdFromUuid(row.uuid),
    timeMs: Number.parseInt(row.uuid.replace('-', '').slice(0, 12), 16),
    words: eventWords({
      actorEmail: row.email,
      actorIp: row.ip,
      resourceName: row.resource_name,
      action: row.action,
      resourceType: row.resourceType,
      actorRole: row.actor_role,
      diff: row.diff,
      reason: null,
      context: null,
      contextIdentity: null,
    }),
  }));
}

/** The events that match a query, unsorted. */
export function naiveMatches(events: readonly StoredFacts[], question: Question): StoredFacts[] {
  const { from = 0, to = Number.POSITIVE_INFINITY, ...facets } = question;
  return events.filter(
    (event) =>
      event.timeMs >= from &&
      event.timeMs < to &&
      Object.entries(facets).every(([name, values]) => holds(hasOf(event, name), values)),
  );
}

function hasOf(event: StoredFacts, facet: string): (value: string) => boolean {
  if (facet === 'q') {
    const has = (word: string) => [...event.words].some((each) => wordMatches(word, each));
    return (value) => wordsOf(value).every(has);
  }
  const texts = textsOf(event, facet);
  return (value) => texts.includes(value.toLowerCase());
}

function holds(has: (value: string) => boolean, values: readonly string[]): boolean {
  const wanted = values.filter((value) => !value.startsWith('!'));
  const unwanted = values.filter((value) => value.startsWith('!')).map((value) => value.slice(1));
  return (wanted.length === 0 || wanted.some(has)) && !unwanted.some(has);
}

function textsOf(event: StoredFacts, facet: string): string[] {
  if (facet === 'user') return [event.actorId, event.email?.toLowerCase() ?? ''];
  if (facet === 'action') return [event.action];
  if (facet === 'resource') return [event.resourceType];
  if (facet === 'resource_id') return [event.resourceId];
  if (facet === 'cross_tenant') return [String(event.crossTenant)];
  if (facet === 'ip') return [event.ip ?? ''];
  return [event.category];
}

/** Events in list order. */
export function naiveOrder(
  events: readonly StoredFacts[],
  sort: 'timestamp' | 'user' | 'sequence',
  order: 'asc' | 'desc',
): StoredFacts[] {
  const bytes = (event: StoredFacts) => Buffer.from(event.email?.toLowerCase() ?? '');
  const compare = (a: StoredFacts, b: StoredFacts) => {
    if (sort === 'sequence') return a.sequence - b.sequence;
    const byUser = sort === 'user' ? Buffer.compare(bytes(a), bytes(b)) : 0;
    return byUser || (a.uuid < b.uuid ? -1 : 1);
  };
  return [...events].sort((a, b) => (order === 'asc' ? compare(a, b) : compare(b, a)));
}

/** The query as a query string. */
export function queryOf(question: Question, more: Record<string, string | number> = {}): string {
  const { from, to, ...facets } = question;
  const params = new URLSearchParams();
  if (from !== undefined) params.set('from', new Date(from).toISOString());
  if (to !== undefined) params.set('to', new Date(to).toISOString());
  for (const [name, values] of Object.entries(facets)) {
    for (const value of values) params.append(name, value);
  }
  for (const [name, value] of Object.entries(more)) params.set(name, String(value));
  return params.toString();
}

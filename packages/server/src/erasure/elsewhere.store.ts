import {
  type AlertRuleSettings,
  canonicalize,
  facetNames,
  facetOf,
  facetValuesMax,
  folded,
  type JsonValue,
} from '@indelible/protocol';
import {
  countOf,
  execute,
  firstRow,
  raw,
  rowsOf,
  textArray,
  uuidArray,
  type WriterTx,
} from '../postgres/index.ts';
import type { Owner } from '../retention/index.ts';

/* Data about a person outside the events. Statements of the owner role. */

/** A person as a tenant's data names them: ids, and addresses in lower case. */
export interface Person {
  tenantId: string;
  actors: readonly string[];
  addresses: readonly string[];
}

/** Numbers of rows by kind. */
export type Elsewhere = Record<keyof typeof personalTables, number>;

// Every statement gets the same three parameters, and must use all of them.
const inTenant = 'tenant_id = $1 AND $2::uuid[] IS NOT NULL AND $3::text[] IS NOT NULL';
const byId = (column: string) => `${column} = ANY ($2::uuid[])`;
const isAddress = (column: string) => `lower(${column}) = ANY ($3::text[])`;
// A whole address: a longer one that contains it belongs to another person.
const containsAddress = (column: string) => String.raw`EXISTS (
  SELECT FROM unnest($3::text[]) AS a (address)
  WHERE lower(${column}::text) ~ ('(?<![[:alnum:]]|[[:alnum:]][._%+-])'
    || regexp_replace(a.address, '([^[:alnum:]])', '\\\1', 'g') || '(?![[:alnum:]]|[.-][[:alnum:]])'))`;

// Of an agent its id stays, as in events.
const isAgent = `(a->>'id')::uuid = ANY ($2::uuid[])`;
const namesAgent = `EXISTS (SELECT FROM jsonb_array_elements(agents) a
  WHERE ${isAgent} AND a <> jsonb_build_object('id', a->'id'))`;
const unnamedAgents = `coalesce((SELECT jsonb_agg(CASE WHEN ${isAgent} THEN jsonb_build_object('id', a->'id')
  ELSE a END) FROM jsonb_array_elements(agents) a), '[]')`;

/** Tables, their affected rows, and the change: emptied columns, or (null) deletion. */
const personalTables = {
  searches: {
    table: 'searches',
    rows: `${byId('created_by_id')} AND created_by_email IS NOT NULL OR ${containsAddress('note')}`,
    change: `created_by_email = CASE WHEN ${byId('created_by_id')} THEN NULL ELSE created_by_email END,
      note = CASE WHEN ${containsAddress('note')} THEN NULL ELSE note END`,
  },
  views: {
    table: 'views',
    rows: `${byId('created_by_id')} AND created_by_email IS NOT NULL OR ${containsAddress('name')}`,
    change: `created_by_email = CASE WHEN ${byId('created_by_id')} THEN NULL ELSE created_by_email END,
      name = CASE WHEN ${containsAddress('name')} THEN 'View' ELSE name END`,
  },
  restores: {
    table: 'restores',
    rows: `requested_by_role <> 'superadmin'
        AND (${byId('requested_by_id')} AND requested_by_email IS NOT NULL OR ${namesAgent})
      OR ${byId('resource_id')} AND resource_name IS NOT NULL`,
    change: `requested_by_email = CASE WHEN requested_by_role <> 'superadmin' AND ${byId('requested_by_id')}
        THEN NULL ELSE requested_by_email END,
      agents = CASE WHEN requested_by_role <> 'superadmin' THEN ${unnamedAgents} ELSE agents END,
      resource_name = CASE WHEN ${byId('resource_id')} THEN NULL ELSE resource_name END`,
  },
  exports: {
    table: 'exports',
    rows: `requested_by_role <> 'superadmin' AND (${byId('requested_by_id')} AND requested_by_email IS NOT NULL
      OR ${namesAgent} OR ${isAddress('mail_to')} OR ${containsAddress('notified')})`,
    change: `requested_by_email = CASE WHEN ${byId('requested_by_id')} THEN NULL ELSE requested_by_email END,
      agents = ${unnamedAgents},
      mail_to = CASE WHEN ${isAddress('mail_to')} THEN NULL ELSE mail_to END,
      notified = (SELECT array_agg(n) FILTER (WHERE NOT ${isAddress('n')}) FROM unnest(notified) n)`,
  },
  webhooks: { table: 'webhooks', rows: containsAddress('name'), change: 'name = NULL' },
  deliveries: {
    table: 'webhook_deliveries',
    rows: containsAddress('response'),
    change: 'response = NULL',
  },
  sessions: {
    table: 'sessions',
    rows: `actor_role <> 'superadmin'
      AND (${byId('actor_id')} OR ${isAddress('actor_email')} OR ${namesAgent})`,
    change: null,
  },
  viewerLinks: {
    table: 'viewer_links',
    rows: `actor_role <> 'superadmin' AND (${byId('actor_id')} OR ${isAddress('actor_email')})`,
    change: null,
  },
  formerEmails: { table: 'former_emails', rows: isAddress('email'), change: null },
} as const;

const names = Object.keys(personalTables) as (keyof typeof personalTables)[];

/** How many rows of each kind name the person. */
export async function findElsewhere(owner: Owner, person: Person): Promise<Elsewhere> {
  return forEachTable(async ({ table, rows }) => {
    const found = await owner.query<{ count: number }>(
      `SELECT count(*) AS count FROM ${table} WHERE ${inTenant} AND (${rows})`,
      values(person),
    );
    return found.rows[0]?.count ?? 0;
  });
}

/** Removes the person from all tables. Filters by address become filters by `ids`. */
export async function eraseElsewhere(
  tx: WriterTx,
  person: Person,
  ids: readonly string[],
): Promise<Elsewhere> {
  for (const table of ['searches', 'views', 'exports', 'webhooks'])
    await replaceInFilters(tx, table, person, ids);
  await replaceInRules(tx, person, ids);
  return forEachTable(async ({ table, rows, change }) => {
    const where = `${inTenant} AND (${rows})`;
    const { rowCount } = await tx.query(
      change === null
        ? `DELETE FROM ${table} WHERE ${where}`
        : `UPDATE ${table} SET ${change} WHERE ${where}`,
      values(person),
    );
    return rowCount ?? 0;
  });
}

async function forEachTable(
  count: (table: (typeof personalTables)[keyof typeof personalTables]) => Promise<number>,
): Promise<Elsewhere> {
  const counts: [string, number][] = [];
  for (const name of names) counts.push([name, await count(personalTables[name])]);
  return Object.fromEntries(counts) as Elsewhere;
}

const values = ({ tenantId, actors, addresses }: Person) => [
  tenantId,
  uuidArray(actors),
  textArray(addresses),
];

async function replaceInFilters(
  tx: WriterTx,
  table: string,
  person: Person,
  ids: readonly string[],
): Promise<void> {
  const { rows } = await tx.query<{ id: string; filters: string }>(
    `SELECT id, filters FROM ${table}
     WHERE ${inTenant} AND (${containsAddress('filters')} OR filters->'q' IS NOT NULL)`,
    values(person),
  );
  for (const { id, filters } of rows) {
    const without = canonicalize(withoutAddresses(JSON.parse(filters), person.addresses, ids));
    await execute(tx)`UPDATE ${raw(table)} SET filters = ${without}
      WHERE tenant_id = ${person.tenantId} AND id = ${id}`;
  }
}

/** An alert rule goes on, by the ids, and tells the others, or else the tenant's `notifyEmails`. */
async function replaceInRules(tx: WriterTx, person: Person, ids: readonly string[]): Promise<void> {
  const { rows } = await tx.query<{ id: string; settings: string }>(
    `SELECT id, settings FROM alert_rules WHERE ${inTenant}
       AND (${containsAddress('settings')} OR settings->'filters'->'q' IS NOT NULL
         OR settings->'followedBy'->'q' IS NOT NULL)`,
    values(person),
  );
  const { addresses } = person;
  for (const { id, settings } of rows) {
    const rule = JSON.parse(settings) as AlertRuleSettings;
    const { emails: all = [], ...notify } = rule.notify;
    const emails = all.filter((email) => !addresses.includes(email.toLowerCase()));
    const namesThem = addresses.some((address) => rule.name.toLowerCase().includes(address));
    const without = {
      ...rule,
      name: namesThem ? 'Alert rule' : rule.name,
      filters: withoutAddresses({ ...rule.filters }, addresses, ids),
      ...(rule.followedBy && {
        followedBy: withoutAddresses({ ...rule.followedBy }, addresses, ids),
      }),
      notify: emails.length > 0 ? { ...notify, emails } : notify,
    };
    await execute(tx)`UPDATE alert_rules SET settings = ${JSON.stringify(without)}
      WHERE tenant_id = ${person.tenantId} AND id = ${id}`;
  }
}

function withoutAddresses(
  filter: Record<string, JsonValue>,
  addresses: readonly string[],
  ids: readonly string[],
): JsonValue {
  const without = { ...filter };
  for (const name of [...personFacets, 'q'] as const) {
    const isNamed = (text: string) =>
      name === 'q'
        ? addresses.some((address) => hasWordsOf(address, text))
        : addresses.includes(text.toLowerCase());
    const values = [filter[name] ?? []].flat().flatMap((value) => {
      const [, mark = '', word = ''] = /^(!?)(.*)$/s.exec(String(value)) ?? [];
      return isNamed(word) ? ids.map((each) => mark + each) : [value];
    });
    if (values.length > 0) without[name] = [...new Set(values)].slice(0, facetValuesMax);
  }
  return without;
}

/** Whether a query has the words of this address, and not of a longer one that contains it. */
function hasWordsOf(address: string, query: string): boolean {
  const character = '[\\p{L}\\p{N}]';
  const words = folded(address).match(/[\p{L}\p{N}]+/gu) ?? [];
  const before = `(?<!${character}|${character}[._%+-])`;
  const after = `(?!${character}|[.-]${character})`;
  const between = '[^\\p{L}\\p{N}]+';
  return new RegExp(before + words.join(between) + after, 'u').test(folded(query));
}

const personFacets = facetNames.filter((name) => facetOf(name).external === 'actor');

/** Whether the tenant's notices go to one of these addresses; only the tenant can change that. */
export async function notifiesAny(owner: Owner, person: Person): Promise<boolean> {
  const { rows } = await owner.query<{ told: boolean }>(
    `SELECT EXISTS (SELECT 1 FROM tenants, unnest(notify_emails) n
       WHERE id = $1 AND $2::uuid[] IS NOT NULL AND ${isAddress('n')}) AS told`,
    values(person),
  );
  return rows[0]?.told === true;
}

/** Whether a restore call of an event's states is still to be sent. */
export async function isRestoring(owner: Owner, tenantId: string): Promise<boolean> {
  const row = await firstRow<{ pending: boolean }>(owner)`
    SELECT EXISTS (SELECT 1 FROM restores WHERE tenant_id = ${tenantId}
      AND body IS NOT NULL) AS pending`;
  return row?.pending === true;
}

/** An export's file, by the parts of its object name. */
export interface ExportFile {
  tenantId: string;
  id: string;
  format: 'csv' | 'ndjson';
}

/** Exports with a file, finished or in progress. */
export async function countFiles(owner: Owner, tenantId: string): Promise<number> {
  return countOf(owner)`SELECT count(*) AS count FROM exports
    WHERE tenant_id = ${tenantId} AND stored AND status IN ('running', 'ready')`;
}

/**
 * Expires every file of the tenant, also files in progress, because they may contain erased values.
 * Returns those that may have an object.
 */
export async function expireFiles(
  tx: WriterTx,
  tenantId: string,
  atMs: number,
): Promise<ExportFile[]> {
  const at = new Date(atMs);
  await execute(tx)`UPDATE exports
    SET status = 'failed', failure = 'interrupted', finished_at = ${at}
    WHERE tenant_id = ${tenantId} AND mode = 'job' AND status = 'running'`;
  return rowsOf<ExportFile>(tx)`
    UPDATE exports SET status = CASE WHEN status = 'ready' THEN 'expired' ELSE status END,
      expires_at = least(expires_at, ${at})
    WHERE tenant_id = ${tenantId} AND stored RETURNING tenant_id AS "tenantId", id, format`;
}

/**
 * Stores that the object is gone. One that a worker writes later is removed as a failed export's.
 */
export async function fileRemoved(tx: WriterTx, { tenantId, id }: ExportFile): Promise<void> {
  await execute(tx)`UPDATE exports SET stored = false
    WHERE tenant_id = ${tenantId} AND id = ${id} AND status = 'expired'`;
}

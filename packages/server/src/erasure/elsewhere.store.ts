import { canonicalize, facetValuesMax, type JsonValue } from '@indelible/protocol';
import { textArray, uuidArray, type WriterTx } from '../postgres/index.ts';
import type { Owner } from '../retention/index.ts';

/* What is known of a person beside the events. Statements of the owner role. */

/** A person as a tenant's data names them: ids, and addresses in lower case. */
export interface Person {
  tenantId: string;
  actors: readonly string[];
  addresses: readonly string[];
}

/** Rows by what they are. */
export type Elsewhere = Record<keyof typeof places, number>;

// Whichever of its parameters a statement needs, it is given all three.
const inTenant = 'tenant_id = $1 AND $2::uuid[] IS NOT NULL AND $3::text[] IS NOT NULL';
const byId = (column: string) => `${column} = ANY ($2::uuid[])`;
const isAddress = (column: string) => `lower(${column}) = ANY ($3::text[])`;
// Not as a part of a longer one, which is somebody else's.
const containsAddress = (column: string) => String.raw`EXISTS (
  SELECT FROM unnest($3::text[]) AS a (address)
  WHERE lower(${column}::text) ~ ('(?<![[:alnum:]]|[[:alnum:]][._%+-])'
    || regexp_replace(a.address, '([^[:alnum:]])', '\\\1', 'g') || '(?![[:alnum:]]|[.-][[:alnum:]])'))`;

/** Table, which of its rows, and what becomes of them: emptied columns, or (null) removal. */
const places = {
  searches: {
    table: 'searches',
    rows: `${byId('created_by_id')} AND created_by_email IS NOT NULL OR ${containsAddress('note')}`,
    change: `created_by_email = CASE WHEN ${byId('created_by_id')} THEN NULL ELSE created_by_email END,
      note = CASE WHEN ${containsAddress('note')} THEN NULL ELSE note END`,
  },
  restores: {
    table: 'restores',
    rows: `requested_by_role <> 'superadmin' AND ${byId('requested_by_id')} AND requested_by_email IS NOT NULL
      OR ${byId('resource_id')} AND resource_name IS NOT NULL`,
    change: `requested_by_email = CASE WHEN requested_by_role <> 'superadmin' AND ${byId('requested_by_id')}
        THEN NULL ELSE requested_by_email END,
      resource_name = CASE WHEN ${byId('resource_id')} THEN NULL ELSE resource_name END`,
  },
  exports: {
    table: 'exports',
    rows: `requested_by_role <> 'superadmin' AND (${byId('requested_by_id')} AND requested_by_email IS NOT NULL
      OR ${isAddress('mail_to')} OR ${containsAddress('notified')})`,
    change: `requested_by_email = CASE WHEN ${byId('requested_by_id')} THEN NULL ELSE requested_by_email END,
      mail_to = CASE WHEN ${isAddress('mail_to')} THEN NULL ELSE mail_to END,
      notified = (SELECT array_agg(n) FILTER (WHERE NOT ${isAddress('n')}) FROM unnest(notified) n)`,
  },
  deliveries: {
    table: 'webhook_deliveries',
    rows: containsAddress('response'),
    change: 'response = NULL',
  },
  sessions: {
    table: 'sessions',
    rows: `actor_role <> 'superadmin' AND (${byId('actor_id')} OR ${isAddress('actor_email')})`,
    change: null,
  },
  viewerLinks: {
    table: 'viewer_links',
    rows: `actor_role <> 'superadmin' AND (${byId('actor_id')} OR ${isAddress('actor_email')})`,
    change: null,
  },
  formerEmails: { table: 'former_emails', rows: isAddress('email'), change: null },
} as const;

const names = Object.keys(places) as (keyof typeof places)[];

/** How many rows of each kind name the person. */
export async function findElsewhere(owner: Owner, person: Person): Promise<Elsewhere> {
  return eachPlace(async ({ table, rows }) => {
    const found = await owner.query<{ count: number }>(
      `SELECT count(*) AS count FROM ${table} WHERE ${inTenant} AND (${rows})`,
      values(person),
    );
    return found.rows[0]?.count ?? 0;
  });
}

/**
 * Removes the person from all of them. Filters that ask for an address ask for `ids` from now on.
 */
export async function eraseElsewhere(
  tx: WriterTx,
  person: Person,
  ids: readonly string[],
): Promise<Elsewhere> {
  for (const table of ['searches', 'exports']) await replaceInFilters(tx, table, person, ids);
  return eachPlace(async ({ table, rows, change }) => {
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

async function eachPlace(
  count: (place: (typeof places)[keyof typeof places]) => Promise<number>,
): Promise<Elsewhere> {
  const counts: [string, number][] = [];
  for (const name of names) counts.push([name, await count(places[name])]);
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
     WHERE ${inTenant} AND ${containsAddress('filters')}`,
    values(person),
  );
  for (const { id, filters } of rows) {
    const without = canonicalize(withoutAddresses(JSON.parse(filters), person.addresses, ids));
    await tx.query(`UPDATE ${table} SET filters = $3 WHERE tenant_id = $1 AND id = $2`, [
      ...[person.tenantId, id, without],
    ]);
  }
}

function withoutAddresses(
  filter: Record<string, JsonValue>,
  addresses: readonly string[],
  ids: readonly string[],
): JsonValue {
  const { user } = filter;
  if (user === undefined) return filter;
  const given = Array.isArray(user) ? user : [user];
  const replaced = given.flatMap((value) => {
    const [, mark = '', word = ''] = /^(!?)(.*)$/s.exec(String(value)) ?? [];
    return addresses.includes(word.toLowerCase()) ? ids.map((each) => mark + each) : [value];
  });
  return { ...filter, user: [...new Set(replaced)].slice(0, facetValuesMax) };
}

/** Whether notices of the tenant go to one of these addresses: that is for the tenant to change. */
export async function notifiesAny(owner: Owner, person: Person): Promise<boolean> {
  const { rows } = await owner.query<{ told: boolean }>(
    `SELECT EXISTS (SELECT FROM tenants, unnest(notify_emails) n
       WHERE id = $1 AND $2::uuid[] IS NOT NULL AND ${isAddress('n')}) AS told`,
    values(person),
  );
  return rows[0]?.told === true;
}

/** Whether the host product is still to be sent what an event held before. */
export async function isRestoring(owner: Owner, tenantId: string): Promise<boolean> {
  const { rows } = await owner.query<{ pending: boolean }>(
    'SELECT EXISTS (SELECT FROM restores WHERE tenant_id = $1 AND body IS NOT NULL) AS pending',
    [tenantId],
  );
  return rows[0]?.pending === true;
}

/** The file of an export, by what its name in the object store is made of. */
export interface ExportFile {
  tenantId: string;
  id: string;
  format: 'csv' | 'ndjson';
}

/** Exports that have a file, or are being made into one. */
export async function countFiles(owner: Owner, tenantId: string): Promise<number> {
  const { rows } = await owner.query<{ count: number }>(
    `SELECT count(*) AS count FROM exports
     WHERE tenant_id = $1 AND stored AND status IN ('running', 'ready')`,
    [tenantId],
  );
  return rows[0]?.count ?? 0;
}

/**
 * Ends the time of every file the tenant has, and of those that are being made: what they hold may
 * be what was erased. Returns those that may have an object.
 */
export async function expireFiles(
  tx: WriterTx,
  tenantId: string,
  atMs: number,
): Promise<ExportFile[]> {
  const at = new Date(atMs);
  await tx.query(
    `UPDATE exports SET status = 'failed', failure = 'interrupted', finished_at = $2
     WHERE tenant_id = $1 AND mode = 'job' AND status = 'running'`,
    [tenantId, at],
  );
  const { rows } = await tx.query<ExportFile>(
    `UPDATE exports SET status = CASE status WHEN 'ready' THEN 'expired' ELSE status END,
       expires_at = least(expires_at, $2)
     WHERE tenant_id = $1 AND stored RETURNING tenant_id AS "tenantId", id, format`,
    [tenantId, at],
  );
  return rows;
}

/**
 * Notes that the object is gone. One that a worker still wrote goes with what failed exports leave.
 */
export async function fileRemoved(tx: WriterTx, { tenantId, id }: ExportFile): Promise<void> {
  await tx.query(
    `UPDATE exports SET stored = false WHERE tenant_id = $1 AND id = $2 AND status = 'expired'`,
    [tenantId, id],
  );
}

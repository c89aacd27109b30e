import { type AlertRuleSettings, emailKey } from '@indelible/protocol';
import type { ExportFile } from '../exports/store.ts';
import type { Queries, WriterTx } from '../postgres/db.ts';
import { textArray, uuidArray } from '../postgres/pg-arrays.ts';
import { countOf, execute, hasRow, raw, rowsOf, sql } from '../postgres/sql.ts';

/* Data about a person outside the events. Statements of the owner role. */

/** A person as a tenant's data names them: UUIDs, own ids, and addresses in lower case. */
export interface Person {
  tenantId: string;
  actors: readonly string[];
  ownIds: readonly string[];
  addresses: readonly string[];
}

export type Elsewhere = Record<keyof ReturnType<typeof personalTables>, number>;

// A whole address: a longer one that contains it belongs to another person.
const wholeAddress = raw(String.raw`('(?<![[:alnum:]]|[[:alnum:]][._%+-])'
  || regexp_replace(lower(a.address), '([^[:alnum:]])', '\\\1', 'g') || '(?![[:alnum:]]|[.-][[:alnum:]])')`);

/** Conditions on columns that may name the person. */
function naming({ actors, addresses }: Person) {
  const [ids, texts] = [uuidArray(actors), textArray(addresses)];
  // The id of an agent stays, as in events.
  const isAgent = sql`(a->>'id')::uuid = ANY (${ids}::uuid[])`;
  return {
    byId: (column: string) => sql`${raw(column)} = ANY (${ids}::uuid[])`,
    isAddress: (column: string) => sql`${raw(column)} = ANY (${texts}::text[])`,
    containsAddress: (column: string) => sql`EXISTS (
      SELECT FROM unnest(${texts}::text[]) AS a (address)
      WHERE lower(${raw(column)}::text) ~ ${wholeAddress})`,
    namesAgent: sql`EXISTS (SELECT FROM jsonb_array_elements(agents) a
      WHERE ${isAgent} AND a <> jsonb_build_object('id', a->'id'))`,
    unnamedAgents: sql`coalesce((SELECT jsonb_agg(CASE WHEN ${isAgent}
      THEN jsonb_build_object('id', a->'id') ELSE a END) FROM jsonb_array_elements(agents) a), '[]')`,
  };
}

/** Tables, their affected rows, and the change: emptied columns, or (null) deletion. */
function personalTables(person: Person) {
  const { byId, isAddress, containsAddress, namesAgent, unnamedAgents } = naming(person);
  const made = {
    rows: sql`${byId('created_by_id')} AND created_by_email IS NOT NULL`,
    change: sql`created_by_email = NULL`,
  };
  const isRequester = sql`(${byId('requested_by_id')}
    AND coalesce(requested_by_email, requested_by_external_id) IS NOT NULL)`;
  return {
    searches: { table: 'searches', ...made },
    views: { table: 'views', ...made },
    restores: {
      table: 'restores',
      rows: sql`requested_by_role <> 'superadmin'
          AND (${isRequester} OR ${namesAgent})
        OR ${byId('resource_id')} AND resource_name IS NOT NULL OR ${containsAddress('reason')}`,
      change: sql`
        reason = CASE WHEN ${containsAddress('reason')} THEN NULL ELSE reason END,
        requested_by_email = CASE WHEN requested_by_role <> 'superadmin' AND ${isRequester}
          THEN NULL ELSE requested_by_email END,
        requested_by_external_id = CASE WHEN requested_by_role <> 'superadmin' AND ${isRequester}
          THEN NULL ELSE requested_by_external_id END,
        agents = CASE WHEN requested_by_role <> 'superadmin' THEN ${unnamedAgents} ELSE agents END,
        resource_name = CASE WHEN ${byId('resource_id')} THEN NULL ELSE resource_name END`,
    },
    exports: {
      table: 'exports',
      rows: sql`requested_by_role <> 'superadmin' AND (
        ${isRequester} OR ${namesAgent} OR ${isAddress('mail_to')} OR ${containsAddress('notified')})`,
      change: sql`
        requested_by_email = CASE WHEN ${isRequester} THEN NULL ELSE requested_by_email END,
        requested_by_external_id = CASE WHEN ${isRequester} THEN NULL ELSE requested_by_external_id END,
        agents = ${unnamedAgents},
        mail_to = CASE WHEN ${isAddress('mail_to')} THEN NULL ELSE mail_to END,
        notified = (SELECT array_agg(n) FILTER (WHERE NOT ${isAddress('n')}) FROM unnest(notified) n)`,
    },
    webhooks: { table: 'webhooks', rows: containsAddress('name'), change: sql`name = NULL` },
    deliveries: {
      table: 'webhook_deliveries',
      rows: containsAddress('response'),
      change: sql`response = NULL`,
    },
    sessions: {
      table: 'sessions',
      rows: sql`actor_role <> 'superadmin'
        AND (${byId('actor_id')} OR ${isAddress('actor_email')} OR ${namesAgent})`,
      change: null,
    },
    viewerLinks: {
      table: 'viewer_links',
      rows: sql`actor_role <> 'superadmin' AND (${byId('actor_id')} OR ${isAddress('actor_email')})`,
      change: null,
    },
    formerEmails: { table: 'former_emails', rows: isAddress('email'), change: null },
    mailRecipients: { table: 'mail_recipients', rows: isAddress('email'), change: null },
  };
}

type PersonalTable = ReturnType<typeof personalTables>[keyof Elsewhere];

/** How many rows of each kind name the person. */
export async function findElsewhere(owner: Queries, known: Person): Promise<Elsewhere> {
  const person = await asWritten(owner, known);
  return forEachTable(person, ({ table, rows }) => {
    return countOf(owner)`SELECT count(*) AS count FROM ${raw(table)}
      WHERE tenant_id = ${person.tenantId} AND (${rows})`;
  });
}

/**
 * Removes the person from all tables. Stored queries that name them must be deleted before, see
 * `deleteQueries`.
 */
export async function eraseElsewhere(tx: WriterTx, known: Person): Promise<void> {
  const person = await asWritten(tx, known);
  await removeRecipient(tx, person);
  await forEachTable(person, ({ table, rows, change }) => {
    const what = change ? sql`UPDATE ${raw(table)} SET ${change}` : sql`DELETE FROM ${raw(table)}`;
    return execute(tx)`${what} WHERE tenant_id = ${person.tenantId} AND (${rows})`;
  });
}

/**
 * The person with their addresses also as these tables have them: PostgreSQL lowers other letters
 * than JavaScript, and those of ASCII alone where its locale is C.
 */
async function asWritten(owner: Queries, person: Person): Promise<Person> {
  const { tenantId, addresses } = person;
  const rows = await rowsOf<{ text: string }>(owner)`
    WITH whole (text) AS (
      SELECT actor_email FROM sessions WHERE tenant_id = ${tenantId}
      UNION SELECT actor_email FROM viewer_links WHERE tenant_id = ${tenantId}
      UNION SELECT email FROM former_emails WHERE tenant_id = ${tenantId}
      UNION SELECT email FROM mail_recipients WHERE tenant_id = ${tenantId}
      UNION SELECT unnest(mail_to || notified) FROM exports WHERE tenant_id = ${tenantId}
      UNION SELECT unnest(notify_emails) FROM tenants WHERE id = ${tenantId}),
    longer (text) AS (
      SELECT name FROM webhooks WHERE tenant_id = ${tenantId}
      UNION SELECT response FROM webhook_deliveries WHERE tenant_id = ${tenantId}
      UNION SELECT settings->>'notify' FROM alert_rules WHERE tenant_id = ${tenantId}
      UNION SELECT reason FROM restores WHERE tenant_id = ${tenantId})
    SELECT text FROM whole WHERE text IS NOT NULL
    UNION SELECT text FROM longer WHERE octet_length(text) > char_length(text)`;
  const written = rows.flatMap(({ text }) => addresses.flatMap((each) => writtenIn(text, each)));
  return { ...person, addresses: [...new Set([...addresses, ...written])] };
}

/** The forms that this address, in lower case, has in a text. */
function writtenIn(text: string, address: string): string[] {
  const letters = address
    .replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')
    .replaceAll('i\u0307', '(?:i\u0307|İ)');
  const found = text.match(new RegExp(letters, 'giu')) ?? [];
  return found.filter((form) => emailKey(form) === address);
}

async function forEachTable(
  person: Person,
  count: (table: PersonalTable) => Promise<number>,
): Promise<Elsewhere> {
  const counts: [string, number][] = [];
  for (const [name, table] of Object.entries(personalTables(person)))
    counts.push([name, await count(table)]);
  return Object.fromEntries(counts) as Elsewhere;
}

/** An alert rule notifies its other recipients; without any, the tenant's `notifyEmails`. */
async function removeRecipient(tx: WriterTx, { tenantId, addresses }: Person): Promise<void> {
  const rows = await rowsOf<{ id: string; settings: string }>(tx)`SELECT id, settings
    FROM alert_rules WHERE tenant_id = ${tenantId} AND settings->'notify'->'emails' IS NOT NULL`;
  for (const { id, settings } of rows) {
    const rule = JSON.parse(settings) as AlertRuleSettings;
    const { emails: all = [], ...notify } = rule.notify;
    const emails = all.filter((email) => !addresses.includes(emailKey(email)));
    if (emails.length === all.length) continue;
    const without = { ...rule, notify: emails.length > 0 ? { ...notify, emails } : notify };
    await execute(tx)`UPDATE alert_rules SET settings = ${JSON.stringify(without)}
      WHERE tenant_id = ${tenantId} AND id = ${id}`;
  }
}

/** Whether the tenant's notices go to one of these addresses; only the tenant can change that. */
export async function notifiesAny(owner: Queries, known: Person): Promise<boolean> {
  const person = await asWritten(owner, known);
  return hasRow(owner)`SELECT FROM tenants, unnest(notify_emails) n
    WHERE id = ${person.tenantId} AND ${naming(person).isAddress('n')} LIMIT 1`;
}

/** Whether a restore call of an event's states is still to be sent. */
export function isRestoring(owner: Queries, tenantId: string): Promise<boolean> {
  return hasRow(
    owner,
  )`SELECT FROM restores WHERE tenant_id = ${tenantId} AND body IS NOT NULL LIMIT 1`;
}

/** Exports with a file, finished or in progress. */
export async function countFiles(owner: Queries, tenantId: string): Promise<number> {
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

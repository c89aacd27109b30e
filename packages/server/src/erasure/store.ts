import { emailKey, nilUuid, storedFields, type WithholdableSegment } from '@indelible/protocol';
import type { ArchiveErasure } from '../archive/erase-archived.ts';
import type { StoredEvent } from '../events/prepared-event.ts';
import { storedColumns } from '../events/read-columns.store.ts';
import type { Queries, WriterTx } from '../postgres/db.ts';
import { byteaArray, int2Array, jsonArray, textArray, uuidArray } from '../postgres/pg-arrays.ts';
import { countOf, execute, firstRow, raw, rowsOf, sql } from '../postgres/sql.ts';
import { listPartitions, listRetired } from '../retention/partitions.store.ts';

/* Statements of the owner role: no serving role may run them. */

/**
 * The erased values: this segment of each event below `size` by one of the actors, and of these
 * events.
 */
export interface Erasure extends ArchiveErasure {
  id: string;
}

export async function insertErasure(tx: WriterTx, erasure: Erasure, atMs: number): Promise<void> {
  const { tenantId, id, segment, actors, events, size } = erasure;
  await execute(tx)`
    INSERT INTO erasures (tenant_id, id, segment, actors, events, size, started_at)
    VALUES (${tenantId}, ${id}, ${segment}, ${uuidArray(actors)}, ${uuidArray(events)}, ${size},
      ${new Date(atMs)})`;
}

/** Erasures of the tenant that are recorded and not finished. */
export async function unfinishedErasures(owner: Queries, tenantId: string): Promise<Erasure[]> {
  return rowsOf<Erasure>(owner)`
    SELECT tenant_id AS "tenantId", id, segment, actors, events, size FROM erasures
    WHERE tenant_id = ${tenantId} AND finished_at IS NULL ORDER BY started_at, id`;
}

export async function finishErasure(
  tx: WriterTx,
  { tenantId, id }: Erasure,
  atMs: number,
): Promise<void> {
  await execute(tx)`UPDATE erasures SET finished_at = ${new Date(atMs)}
    WHERE tenant_id = ${tenantId} AND id = ${id}`;
}

export interface ErasableEvent extends StoredEvent {
  retentionClass: number;
}

const batchRows = 500;

/** The next events with the segment, after `after`, by id: of actors, or the named ones. */
export async function nextErasable(
  tx: WriterTx,
  { tenantId, size, segment, actors, events }: Erasure,
  after: string,
): Promise<ErasableEvent[]> {
  const named = actors.length > 0 ? ofActors(actors) : sql`id = ANY (${uuidArray(events)}::uuid[])`;
  return rowsOf<ErasableEvent>(tx)`
    SELECT ${raw(storedColumns)}, before, after, retention_class AS "retentionClass"
    FROM audit_events
    WHERE tenant_id = ${tenantId} AND sequence < ${size} AND id > ${after} AND ${named}
      AND (erased->>${segment}::text) IS NULL
      AND (${segment}::text <> 'state' OR before IS NOT NULL OR after IS NOT NULL)
      AND (${segment}::text <> 'context' OR context IS NOT NULL)
    ORDER BY id LIMIT ${batchRows}`;
}

/** By these people, or on behalf of them. An operator's identity is never erased. */
const ofActors = (ids: readonly string[]) => sql`(actor_id = ANY (${uuidArray(ids)}::uuid[])
  OR on_behalf_of && ${uuidArray(ids)}::uuid[]::text[]) AND actor_role <> 'superadmin'`;

/** The people on whose behalf a tenant's actors act, each with the address as it was sent. */
const people = sql`(SELECT tenant_id, on_behalf_of, (p.value->>'id')::uuid AS id,
    coalesce(who->>'email', substring(who->>'externalId' FROM '.*@.*')) AS address,
    who->>'externalId' AS own_id
  FROM audit_events, json_array_elements(context->'onBehalfOf') WITH ORDINALITY p,
    LATERAL (SELECT context_identity->'onBehalfOf'->(p.ordinality - 1)::int) AS w (who)
  WHERE on_behalf_of IS NOT NULL) people`;

function emptying(segment: WithholdableSegment): string {
  const fields = storedFields.filter((field) => field.segment === segment);
  const columns = fields.map(({ column, kind }) =>
    kind === 'diff' ? `${column} = '{}'` : `${column} = NULL`,
  );
  return [...columns, ...(copiesEmptied[segment] ?? [])].join(', ');
}

const onBehalfOfWhere = (condition: string) =>
  `on_behalf_of = (SELECT array_agg(key) FROM unnest(on_behalf_of) key WHERE ${condition})`;

/** What searches compare: ids are in `context`, addresses in `identity`. */
const copiesEmptied: { [Name in WithholdableSegment]?: readonly string[] } = {
  identity: ["actor_email_key = ''", onBehalfOfWhere("key NOT LIKE '%@%'")],
  context: [
    ...['outcome = NULL', 'actor_type = NULL', 'correlation_id = NULL'],
    onBehalfOfWhere("key LIKE '%@%'"),
  ],
};

/** The values that open an event's commitment after the erasure. */
export interface ErasedEvent {
  uuid: string;
  retentionClass: number;
  salts: Uint8Array;
  erased: string;
}

/** Empties the segment of these events, stores its hashes; returns how many were not erased. */
export async function eraseSegments(
  tx: WriterTx,
  { tenantId, segment }: Erasure,
  rows: readonly ErasedEvent[],
): Promise<number> {
  return execute(tx)`
    UPDATE audit_events e SET ${raw(emptying(segment))}, salts = n.salts, erased = n.erased
    FROM unnest(${uuidArray(rows.map(({ uuid }) => uuid))}::uuid[],
      ${int2Array(rows.map(({ retentionClass }) => retentionClass))}::int2[],
      ${byteaArray(rows.map(({ salts }) => salts))}::bytea[],
      ${jsonArray(rows.map(({ erased }) => erased))}::json[]) AS n (id, class, salts, erased)
    WHERE e.tenant_id = ${tenantId} AND e.retention_class = n.class AND e.id = n.id`;
}

/** The identities of a person in the tenant's events. */
export interface KnownActor {
  id: string;
  /** Events whose identity would be erased. */
  count: number;
  /** Events as an operator, which stay. */
  asOperator: number;
}

/** People with this id or address (in lower case) who acted, or for whom others acted. */
export async function findActors(
  owner: Queries,
  tenantId: string,
  by: { id: string } | { emailKey: string },
): Promise<KnownActor[]> {
  const [actor, ids] =
    'id' in by
      ? [sql`actor_id = ${by.id}`, [by.id]]
      : [sql`actor_email_key = ${by.emailKey}`, await peopleWith(owner, tenantId, by.emailKey)];
  return rowsOf<KnownActor>(owner)`
    WITH wanted AS (
      SELECT actor_id AS id FROM audit_events WHERE tenant_id = ${tenantId} AND ${actor}
      UNION SELECT unnest(${uuidArray(ids)}::uuid[]))
    SELECT wanted.id,
      count(*) FILTER (WHERE actor_role <> 'superadmin' AND (erased->>'identity') IS NULL) AS count,
      count(*) FILTER (WHERE actor_role = 'superadmin' AND actor_id = wanted.id) AS "asOperator"
    FROM wanted JOIN audit_events ON tenant_id = ${tenantId}
      AND (actor_id = wanted.id OR on_behalf_of && ARRAY[wanted.id::text])
    WHERE wanted.id <> ${nilUuid} GROUP BY 1 ORDER BY 1`;
}

/** The ids of people with this address for whom others acted. PostgreSQL lowers other letters. */
async function peopleWith(owner: Queries, tenantId: string, key: string): Promise<string[]> {
  const rows = await rowsOf<{ id: string; address: string }>(owner)`
    SELECT DISTINCT id, address FROM ${people} WHERE tenant_id = ${tenantId}
      AND on_behalf_of @> ARRAY[${key}::text] AND id IS NOT NULL AND address IS NOT NULL`;
  return rows.filter(({ address }) => emailKey(address) === key).map(({ id }) => id);
}

/**
 * Ids of events in which only this address names a person: events of unknown actors, such as failed
 * sign-ins, and events on behalf of people who are unknown or whose ids were erased with the
 * context.
 */
export async function eventsOfUnknown(
  owner: Queries,
  tenantId: string,
  key: string,
): Promise<string[]> {
  const rows = await rowsOf<{ id: string }>(owner)`SELECT id FROM audit_events
    WHERE tenant_id = ${tenantId} AND actor_role <> 'superadmin'
      AND (actor_email_key = ${key} AND actor_id = ${nilUuid}
        OR on_behalf_of @> ARRAY[${key}::text] AND ((erased->>'context') IS NOT NULL
          OR on_behalf_of @> ARRAY[${nilUuid}::text]))
    ORDER BY id`;
  return rows.map(({ id }) => id);
}

/** Addresses under which these people acted or were acted for, in lower case; no operators. */
export async function addressesOf(
  owner: Queries,
  tenantId: string,
  actors: readonly string[],
): Promise<string[]> {
  const ids = uuidArray(actors);
  const rows = await rowsOf<{ address: string }>(owner)`
    SELECT actor_email_key AS address FROM audit_events
    WHERE tenant_id = ${tenantId} AND actor_id = ANY (${ids}) AND actor_role <> 'superadmin'
      AND actor_email_key <> ''
    UNION SELECT address FROM ${people}
    WHERE tenant_id = ${tenantId} AND id = ANY (${ids}) AND address IS NOT NULL`;
  return [...new Set(rows.map(({ address }) => emailKey(address)))].sort();
}

/** The host product's own ids of these people, in NFC as filters have them; no operators. */
export async function ownIdsOf(
  owner: Queries,
  tenantId: string,
  actors: readonly string[],
): Promise<string[]> {
  const ids = uuidArray(actors);
  const rows = await rowsOf<{ ownId: string }>(owner)`
    SELECT context_identity->'actor'->>'externalId' AS "ownId" FROM audit_events
    WHERE tenant_id = ${tenantId} AND actor_id = ANY (${ids}) AND actor_role <> 'superadmin'
      AND context_identity->'actor'->>'externalId' IS NOT NULL
    UNION SELECT own_id FROM ${people}
    WHERE tenant_id = ${tenantId} AND id = ANY (${ids}) AND own_id IS NOT NULL`;
  return [...new Set(rows.map(({ ownId }) => ownId.normalize('NFC')))].sort();
}

/** Events that name the person elsewhere; erasing an actor does not change them. */
export interface Mentions {
  /** By other actors, whose resource or one of whose targets is the person, by id or address. */
  asResource: number;
  /** With an address in diff, reason, states or context; the newest of them by id. */
  inText: number;
  newestInText: string[];
}

const mentionsShown = 20;

const holdAddress = (columns: string, addresses: readonly string[]) =>
  sql`EXISTS (SELECT FROM unnest(${textArray(addresses)}::text[]) AS a (address)
    WHERE position(a.address in lower(concat_ws(' ', ${raw(columns)}))) > 0)`;

export async function findMentions(
  owner: Queries,
  tenantId: string,
  actors: readonly string[],
  addresses: readonly string[],
): Promise<Mentions> {
  const ids = uuidArray(actors);
  const asResource = await countOf(owner)`SELECT count(*) AS count FROM audit_events
    WHERE tenant_id = ${tenantId} AND (${ofActors(actors)}) IS NOT TRUE
      AND (resource_id = ANY (${ids})
        OR EXISTS (SELECT FROM json_array_elements(context->'targets') t
          WHERE (t->>'id')::uuid = ANY (${ids}))
        OR ${holdAddress('resource_name, context_identity', addresses)})`;
  const rows = await rowsOf<{ id: string; found: number }>(owner)`
    SELECT id, count(*) OVER () AS found FROM audit_events
    WHERE tenant_id = ${tenantId}
      AND ${holdAddress('diff, reason, before, after, context', addresses)}
    ORDER BY id DESC LIMIT ${mentionsShown}`;
  return { asResource, inText: rows[0]?.found ?? 0, newestInText: rows.map(({ id }) => id) };
}

/** An event with everything that its erasure depends on, or null. */
export async function findEvent(
  owner: Queries,
  tenantId: string,
  uuid: string,
): Promise<StoredEvent | null> {
  return firstRow<StoredEvent>(owner)`
    SELECT ${raw(storedColumns)}, before, after FROM audit_events WHERE tenant_id = ${tenantId}
      AND retention_class = ANY (ARRAY(SELECT class FROM plans)) AND id = ${uuid}`;
}

/** Whether detached partitions exist, whose events cannot be reached. */
export async function hasDetachedPartitions(owner: Queries): Promise<boolean> {
  const isOut = (await listPartitions(owner)).some(({ state }) => state !== 'attached');
  return isOut || (await listRetired(owner)).length > 0;
}

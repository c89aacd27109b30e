import { nilUuid, storedFields, type WithholdableSegment } from '@indelible/protocol';
import { type StoredEvent, storedColumns } from '../events/index.ts';
import {
  byteaArray,
  firstRow,
  int2Array,
  jsonArray,
  raw,
  textArray,
  uuidArray,
  type WriterTx,
} from '../postgres/index.ts';
import { listPartitions, listRetired, type Owner } from '../retention/index.ts';

/* Statements of the owner role: no serving role may run them. */

/**
 * What is erased: the segment of each event below `size` by one of the actors, and of these events.
 */
export interface Erasure {
  tenantId: string;
  id: string;
  segment: WithholdableSegment;
  actors: string[];
  events: string[];
  size: number;
}

const erasureColumns = 'tenant_id AS "tenantId", id, segment, actors, events, size';

export async function insertErasure(tx: WriterTx, erasure: Erasure, atMs: number): Promise<void> {
  const { tenantId, id, segment, actors, events, size } = erasure;
  await tx.query(
    `INSERT INTO erasures (tenant_id, id, segment, actors, events, size, started_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7)`,
    [tenantId, id, segment, uuidArray(actors), uuidArray(events), size, new Date(atMs)],
  );
}

/** Erasures of the tenant that are recorded and not finished. */
export async function unfinishedErasures(owner: Owner, tenantId: string): Promise<Erasure[]> {
  const { rows } = await owner.query<Erasure>(
    `SELECT ${erasureColumns} FROM erasures WHERE tenant_id = $1 AND finished_at IS NULL
     ORDER BY started_at, id`,
    [tenantId],
  );
  return rows;
}

export async function finishErasure(
  tx: WriterTx,
  { tenantId, id }: Erasure,
  atMs: number,
): Promise<void> {
  await tx.query('UPDATE erasures SET finished_at = $3 WHERE tenant_id = $1 AND id = $2', [
    tenantId,
    id,
    new Date(atMs),
  ]);
}

/** An event with a segment to erase. */
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
  const byActor = actors.length > 0;
  const { rows } = await tx.query<ErasableEvent>(
    `SELECT ${storedColumns}, before, after, retention_class AS "retentionClass" FROM audit_events
     WHERE tenant_id = $1 AND sequence < $2 AND id > $3
       AND ${byActor ? ofActors('$4') : 'id = ANY ($4::uuid[])'} AND ${hasSegment('$5')}
     ORDER BY id LIMIT ${batchRows}`,
    [tenantId, size, after, uuidArray(byActor ? actors : events), segment],
  );
  return rows;
}

/** By these people, or on behalf of them. An operator's identity is never erased. */
const ofActors = (ids: string) =>
  `(actor_id = ANY (${ids}::uuid[]) OR on_behalf_of && ${ids}::uuid[]::text[]) AND actor_role <> 'superadmin'`;
const hasSegment = (name: string) => `(erased->>${name}::text) IS NULL
  AND (${name}::text <> 'state' OR before IS NOT NULL OR after IS NOT NULL)
  AND (${name}::text <> 'context' OR context IS NOT NULL)`;

/** The people on whose behalf a tenant's actors act, each with the address in lower case. */
const people = `(SELECT tenant_id, (p.value->>'id')::uuid AS id,
    lower(coalesce(who->>'email', substring(who->>'externalId' FROM '.*@.*'))) AS email
  FROM audit_events, json_array_elements(context->'onBehalfOf') WITH ORDINALITY p,
    LATERAL (SELECT context_identity->'onBehalfOf'->(p.ordinality - 1)::int) AS w (who)
  WHERE on_behalf_of IS NOT NULL) people`;

/** SQL that empties a segment. */
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
  const { rowCount } = await tx.query(
    `UPDATE audit_events e SET ${emptying(segment)}, salts = n.salts, erased = n.erased
     FROM unnest($2::uuid[], $3::int2[], $4::bytea[], $5::json[]) AS n (id, class, salts, erased)
     WHERE e.tenant_id = $1 AND e.retention_class = n.class AND e.id = n.id`,
    [
      tenantId,
      uuidArray(rows.map(({ uuid }) => uuid)),
      int2Array(rows.map(({ retentionClass }) => retentionClass)),
      byteaArray(rows.map(({ salts }) => salts)),
      jsonArray(rows.map(({ erased }) => erased)),
    ],
  );
  return rowCount ?? 0;
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
  owner: Owner,
  tenantId: string,
  by: { id: string } | { emailKey: string },
): Promise<KnownActor[]> {
  const [actor, person, value] =
    'id' in by ? ['actor_id', 'id', by.id] : ['actor_email_key', 'email', by.emailKey];
  const { rows } = await owner.query<KnownActor>(
    `WITH wanted AS (
       SELECT actor_id AS id FROM audit_events WHERE tenant_id = $1 AND ${actor} = $2
       UNION SELECT id FROM ${people} WHERE tenant_id = $1 AND ${person} = $2)
     SELECT wanted.id,
       count(*) FILTER (WHERE actor_role <> 'superadmin' AND (erased->>'identity') IS NULL) AS count,
       count(*) FILTER (WHERE actor_role = 'superadmin' AND actor_id = wanted.id) AS "asOperator"
     FROM wanted JOIN audit_events ON tenant_id = $1
       AND (actor_id = wanted.id OR on_behalf_of && ARRAY[wanted.id::text])
     WHERE wanted.id <> '${nilUuid}' GROUP BY 1 ORDER BY 1`,
    [tenantId, value],
  );
  return rows;
}

/**
 * Ids of events in which only this address names a person: those of unknown actors, such as failed
 * sign-ins, and those for people who are unknown or whose ids were erased with the context.
 */
export async function eventsOfUnknown(
  owner: Owner,
  tenantId: string,
  emailKey: string,
): Promise<string[]> {
  const { rows } = await owner.query<{ id: string }>(
    `SELECT id FROM audit_events WHERE tenant_id = $1 AND actor_role <> 'superadmin'
       AND (actor_email_key = $2 AND actor_id = '${nilUuid}' OR on_behalf_of @> ARRAY[$2::text]
         AND ((erased->>'context') IS NOT NULL OR on_behalf_of @> ARRAY['${nilUuid}']))
     ORDER BY id`,
    [tenantId, emailKey],
  );
  return rows.map(({ id }) => id);
}

/** Addresses under which these people acted or were acted for, in lower case; no operators. */
export async function addressesOf(
  owner: Owner,
  tenantId: string,
  actors: readonly string[],
): Promise<string[]> {
  const { rows } = await owner.query<{ key: string }>(
    `SELECT actor_email_key AS key FROM audit_events
     WHERE tenant_id = $1 AND actor_id = ANY ($2) AND actor_role <> 'superadmin' AND actor_email_key <> ''
     UNION SELECT email FROM ${people} WHERE tenant_id = $1 AND id = ANY ($2) AND email IS NOT NULL
     ORDER BY 1`,
    [tenantId, uuidArray(actors)],
  );
  return rows.map(({ key }) => key);
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

const holdsAddress = (addresses: string, columns: string) =>
  `EXISTS (SELECT FROM unnest(${addresses}::text[]) AS a (address)
    WHERE position(a.address in lower(concat_ws(' ', ${columns}))) > 0)`;

export async function findMentions(
  owner: Owner,
  tenantId: string,
  actors: readonly string[],
  addresses: readonly string[],
): Promise<Mentions> {
  const { rows: resources } = await owner.query<{ count: number }>(
    `SELECT count(*) AS count FROM audit_events
     WHERE tenant_id = $1 AND (${ofActors('$2')}) IS NOT TRUE
       AND (resource_id = ANY ($2) OR EXISTS (SELECT FROM json_array_elements(context->'targets') t
         WHERE (t->>'id')::uuid = ANY ($2)) OR ${holdsAddress('$3', 'resource_name, context_identity')})`,
    [tenantId, uuidArray(actors), textArray(addresses)],
  );
  const { rows } = await owner.query<{ id: string; found: number }>(
    `SELECT id, count(*) OVER () AS found FROM audit_events
     WHERE tenant_id = $1 AND ${holdsAddress('$2', 'diff, reason, before, after, context')}
     ORDER BY id DESC LIMIT ${mentionsShown}`,
    [tenantId, textArray(addresses)],
  );
  const newestInText = rows.map(({ id }) => id);
  return { asResource: resources[0]?.count ?? 0, inText: rows[0]?.found ?? 0, newestInText };
}

/** An event with everything that its erasure depends on, or null. */
export async function findEvent(
  owner: Owner,
  tenantId: string,
  uuid: string,
): Promise<StoredEvent | null> {
  return firstRow<StoredEvent>(owner)`
    SELECT ${raw(storedColumns)}, before, after FROM audit_events WHERE tenant_id = ${tenantId}
      AND retention_class = ANY (ARRAY(SELECT class FROM plans)) AND id = ${uuid}`;
}

/** Whether detached partitions exist, whose events cannot be reached. */
export async function hasDetachedPartitions(owner: Owner): Promise<boolean> {
  const isOut = (await listPartitions(owner)).some(({ state }) => state !== 'attached');
  return isOut || (await listRetired(owner)).length > 0;
}

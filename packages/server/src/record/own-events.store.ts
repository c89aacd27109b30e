import {
  actingFor,
  agentsIn,
  type Catalogue,
  canonicalize,
  contextTexts,
  copiedColumns,
  cutText,
  diffStates,
  type JsonValue,
  type Sha256,
  userAgentLengthMax,
} from '@indelible/protocol';
import { createRandom } from '../crypto/random.ts';
import { sha } from '../crypto/sha256.ts';
import { type PreparedEvent, prepare, type Random } from '../events/prepared-event.ts';
import { readServiceId } from '../events/store.ts';
import { AppError, unavailable } from '../http/problem.ts';
import { LogDamaged } from '../log/entries.store.ts';
import { haltedSentence, lockHeads, logIsHalted } from '../log/store.ts';
import type { OwnEvent, RecordOwn } from '../own-event.ts';
import type { OwnerSession, Queries, WriterTx } from '../postgres/db.ts';
import { ensurePartition } from '../postgres/partitions.store.ts';
import { hasRow } from '../postgres/sql.ts';
import { appendEvents } from './append.store.ts';
import type { GroupCommit } from './flush.ts';
import { createPartitionKeeper, isMissingPartition, type PartitionKeeper } from './partitions.ts';
import { createUuidSource, type UuidSource } from './uuid-source.ts';

export interface OwnEventDeps {
  sha: Sha256;
  now: () => number;
  random: Random;
  newUuid: UuidSource;
  catalogue: Catalogue;
  /** Id of this installation: `recordedBy` of the service's own events. */
  serviceId: string;
}

/** What the service's own events are made with. */
export async function openOwnEvents(
  db: Queries,
  catalogue: Catalogue,
  now: () => number,
): Promise<OwnEventDeps> {
  const random = createRandom();
  const newUuid = createUuidSource(random);
  return { sha, random, newUuid, catalogue, now, serviceId: await readServiceId(db) };
}

/** An event of the service itself: trusted, so it is built without validation. */
function prepareOwn(
  deps: OwnEventDeps,
  tenantId: string,
  event: OwnEvent,
  uuid = deps.newUuid(deps.now()),
): PreparedEvent {
  const { action } = event;
  const { before, after } = markedStates(event);
  const crossTenant = event.actor.role === 'superadmin';
  const asState = (state: JsonValue | null) => (state === null ? null : canonicalize(state));
  const states = [asObject(event.before), asObject(event.after)] as const;
  const diff = event.diff ?? diffStates(...states).diff;
  const named = { ...event, ...recordedActor(tenantId, event.actor) };
  const copied = copiedColumns(named);
  return prepare(
    {
      tenantId,
      uuid,
      ...copied,
      actorUserAgent: userAgentOf(copied.actorUserAgent),
      diff: canonicalize(diff),
      crossTenant,
      category: deps.catalogue.categoryOf(action, crossTenant),
      recordedByKind: 'service',
      recordedById: deps.serviceId,
      before: asState(before),
      after: asState(after),
      ...contextTexts(named),
    },
    deps.sha,
    deps.random,
  );
}

/** A browser's own, of any length. */
function userAgentOf(text: string | null): string | null {
  return text === null ? null : cutText(text, userAgentLengthMax).toWellFormed();
}

/** The caller; if an agent used their token, the agent as the actor, and for whom it acts. */
function recordedActor(tenantId: string, { agents = [], ...caller }: OwnEvent['actor']) {
  const [agent, ...before] = agentsIn(tenantId, agents);
  if (agent === undefined) return { actor: caller };
  const { id, externalId, email, role, ip, userAgent } = caller;
  const named = externalId === undefined ? { id } : { id, externalId };
  const person = { ...named, ...(email === null ? {} : { email }), role, type: 'user' as const };
  const { actor, onBehalfOf } = actingFor([agent, ...before], person);
  return { actor: { ...actor, ip, userAgent }, onBehalfOf };
}

/** The stored states; the last one also names the key of the actor. */
function markedStates({ actor, before = null, after = null }: OwnEvent) {
  const { mark } = actor;
  if (!mark) return { before, after };
  if (after === null && before !== null) return { before: { ...asObject(before), ...mark }, after };
  return { before, after: { ...asObject(after), ...mark } };
}

function asObject(state: JsonValue | undefined): { [key: string]: JsonValue } | null {
  return typeof state === 'object' && state !== null && !Array.isArray(state) ? state : null;
}

/**
 * Records in the caller's transaction: the change and its record commit together or not at all.
 * Locks the tenant's head last, so callers lock their own rows before.
 */
export function recordOwnWith(deps: OwnEventDeps & { partitions: PartitionKeeper }): RecordOwn {
  return async (tx, tenantId, ...events) => {
    const [head] = await lockHeads(tx, [tenantId], true);
    if (!head) throw new LogDamaged('a log has lost its head', [tenantId]);
    const prepared: PreparedEvent[] = [];
    for (const event of events) {
      const named = event.setsUp ? await asSetUp(tx, tenantId, event) : event;
      prepared.push(prepareOwn(deps, tenantId, named));
    }
    const batch = { head, events: prepared };
    const append = async () => {
      const nowMs = deps.now();
      await deps.partitions.ensure([batch], nowMs);
      await appendEvents(tx, deps.sha, [batch], nowMs);
    };
    await tx.query('SAVEPOINT own_event');
    await append().catch(async (error: unknown) => {
      if (!isMissingPartition(error)) throw error;
      // The clock was set back to a day that retention has removed.
      await tx.query('ROLLBACK TO SAVEPOINT own_event');
      deps.partitions.forget();
      await append();
    });
    return prepared.map(({ uuid }) => uuid);
  };
}

async function asSetUp(tx: WriterTx, tenantId: string, event: OwnEvent): Promise<OwnEvent> {
  const isSetUp = await hasRow(tx)`
    SELECT FROM tenants WHERE id = ${tenantId} AND EXISTS (
      SELECT FROM audit_events WHERE tenant_id = ${tenantId} AND recorded_by_kind <> 'service')`;
  return isSetUp ? event : { ...event, actor: { ...event.actor, role: 'api_key' } };
}

/** Records a command's event as the service does, in the open transaction of this session. */
export async function recordOwnIn(
  owner: OwnerSession,
  catalogue: Catalogue,
  now: () => number,
): Promise<RecordOwn> {
  const deps = await openOwnEvents(owner, catalogue, now);
  // Partitions are usually made ahead, so that none is made while a head is locked.
  const partitions = createPartitionKeeper(({ retentionClass, timeMs }) =>
    ensurePartition(owner, retentionClass, timeMs),
  );
  return recordOwnWith({ ...deps, partitions });
}

/**
 * Records an event without its own transaction, such as a read, through the producers' queue.
 * Resolves after the commit, with its UUID; the same `uuid` again has no effect. Throws `not_found`
 * for an unknown tenant, `unavailable` if it could not be recorded.
 */
export function recordOwnQueued(deps: OwnEventDeps, groupCommit: GroupCommit) {
  return async (tenantId: string, event: OwnEvent, uuid?: string): Promise<string> => {
    const prepared = prepareOwn(deps, tenantId, event, uuid);
    const [outcome] = await groupCommit.record([prepared], null);
    if (outcome?.status === 'created' || outcome?.status === 'duplicate') return prepared.uuid;
    if (outcome?.status === 'rejected' && outcome.code === 'unknown_tenant') {
      throw new AppError('not_found', 'there is no such tenant');
    }
    if (outcome?.status === 'rejected' && outcome.detail === haltedSentence) throw logIsHalted();
    throw unavailable('the change could not be recorded, so it was not made; try again');
  };
}

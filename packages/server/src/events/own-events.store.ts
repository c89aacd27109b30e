import {
  type Catalogue,
  canonicalize,
  copiedColumns,
  diffStates,
  type JsonValue,
  type Sha256,
} from '@indelible/protocol';
import { LogDamaged, lockHeads } from '../log/store.ts';
import type { OwnEvent, RecordOwn } from '../own-event.ts';
import { isMissingPartition, type PartitionKeeper } from './partitions.ts';
import { type PreparedEvent, prepare, type Random } from './prepared-event.ts';
import { appendEvents } from './store.ts';
import type { UuidSource } from './uuid-source.ts';

export interface OwnEventDeps {
  sha: Sha256;
  random: Random;
  newUuid: UuidSource;
  catalogue: Catalogue;
  now: () => number;
  /** Id of this installation: `recordedBy` of what the service records itself. */
  serviceId: string;
}

/** An event of the service's own: trusted input, so it is built, not validated. */
export function prepareOwn(
  deps: OwnEventDeps,
  tenantId: string,
  event: OwnEvent,
  uuid = deps.newUuid(deps.now()),
): PreparedEvent {
  const { actor, action, before = null, after = null } = event;
  const crossTenant = actor.role === 'superadmin';
  const asState = (state: JsonValue | null) => (state === null ? null : canonicalize(state));
  const diff = event.diff ?? diffStates(asObject(before), asObject(after)).diff;
  const copied = copiedColumns(event, []);
  return prepare(
    {
      tenantId,
      uuid,
      ...copied,
      actorUserAgent: copied.actorUserAgent?.toWellFormed() ?? null,
      diff: canonicalize(diff),
      crossTenant,
      category: deps.catalogue.categoryOf(action, crossTenant),
      recordedByKind: 'service',
      recordedById: deps.serviceId,
      before: asState(before),
      after: asState(after),
    },
    deps.sha,
    deps.random,
  );
}

function asObject(state: JsonValue | null): { [key: string]: JsonValue } | null {
  return typeof state === 'object' && state !== null && !Array.isArray(state) ? state : null;
}

/**
 * Records within the caller's own transaction: the change and its record commit together or not at
 * all. Takes the tenant's head last, so callers lock their own rows first.
 */
export function recordOwnWith(deps: OwnEventDeps & { partitions: PartitionKeeper }): RecordOwn {
  return async (tx, tenantId, event) => {
    const [head] = await lockHeads(tx, [tenantId], true);
    if (!head) throw new LogDamaged('a log has lost its head', [tenantId]);
    const batch = { head, events: [prepareOwn(deps, tenantId, event)] };
    const append = async () => {
      await deps.partitions.ensure([batch]);
      await appendEvents(tx, deps.sha, [batch], deps.now());
    };
    await tx.query('SAVEPOINT own_event');
    await append().catch(async (error: unknown) => {
      if (!isMissingPartition(error)) throw error;
      // The clock was put back to a day that retention has dropped since.
      await tx.query('ROLLBACK TO SAVEPOINT own_event');
      deps.partitions.forget();
      await append();
    });
  };
}

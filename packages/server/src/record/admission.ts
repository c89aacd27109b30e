import { type ErrorCode, type Plans, retentionCutoff, uuidTimeMs } from '@indelible/protocol';
import { AppError } from '../http/problem.ts';
import { damagedSentence } from '../log/entries.store.ts';
import type { LogHead } from '../log/sequencer.ts';
import { tenantsWithLog } from '../log/store.ts';
import { unavailability, type WriterTx } from '../postgres/db.ts';
import { codeOf } from '../postgres/embedded/error-code.ts';
import { shownRepeats, type TenantBatch } from './append.store.ts';
import { isMissingPartition } from './partitions.ts';
import type { Outcome, QueuedEvent } from './record-queue.ts';

/* Which events of a flush its tenants may record; why others are not, in words of their caller. */

/** What a flush has to tell, once it has committed. */
export type Settled = [QueuedEvent, Outcome][];

/**
 * A tenant without a locked head is unknown (refused), or another process has locked its head
 * (skipped), or the head is lost (503: the tenant exists).
 */
export async function withoutHead(
  tx: WriterTx,
  groups: Map<string, QueuedEvent[]>,
  heads: readonly LogHead[],
  settled: Settled,
): Promise<{ skipped: QueuedEvent[]; beheaded: string[] }> {
  if (heads.length === groups.size) return { skipped: [], beheaded: [] };
  const locked = new Set(heads.map((head) => head.tenantId));
  const missing = [...groups].filter(([tenantId]) => !locked.has(tenantId));
  const known = await tenantsWithLog(
    tx,
    missing.map(([tenantId]) => tenantId),
  );
  const skipped: QueuedEvent[] = [];
  const beheaded: string[] = [];
  for (const [tenantId, items] of missing) {
    const tenant = known.get(tenantId);
    if (tenant?.hasLog) skipped.push(...items);
    else for (const item of items) settled.push([item, tenant ? damagedLog : unknownTenant]);
    if (tenant?.hasLog === false) beheaded.push(tenantId);
  }
  return { skipped, beheaded };
}

export function refusalOf(
  item: QueuedEvent,
  head: LogHead,
  revoked: ReadonlySet<string>,
): Outcome | null {
  if (item.keyId !== null && revoked.has(item.keyId)) {
    return rejected('unauthenticated', 'the API key is revoked or expired');
  }
  if (head.isClosed && item.event.recordedByKind !== 'service') return closedTenant;
  return null;
}

export interface HeadWork extends TenantBatch {
  items: QueuedEvent[];
}

/** Settles events that are older than the tenant's retention; returns the others. */
export async function withoutTooOld(
  tx: WriterTx,
  plans: Plans,
  { head, items, nowMs }: { head: LogHead; items: QueuedEvent[]; nowMs: number },
  settled: Settled,
): Promise<HeadWork> {
  const plan = plans.ofClass(head.retentionClass); // none while a legal hold stands
  const shownFromMs = plan ? retentionCutoff(plan.keeps, nowMs) : 0;
  const isTooOld = ({ event }: QueuedEvent) => uuidTimeMs(event.uuid) < shownFromMs;
  const old = items.filter(isTooOld);
  if (plan && old.length > 0) {
    const detail = `the event is older than the retention of the plan ${plan.name}`;
    const batch = { head, events: old.map(({ event }) => event) };
    const repeats = await shownRepeats(tx, batch, shownFromMs);
    for (const item of old) {
      const repeat = repeats.get(item.event.uuid);
      settled.push([item, repeat ?? rejected('outside_retention', detail)]);
    }
  }
  const accepted = old.length > 0 ? items.filter((item) => !isTooOld(item)) : items;
  return { head, items: accepted, events: accepted.map(({ event }) => event) };
}

/** The event was not recorded, for this reason. */
export const rejected = (code: ErrorCode, detail: string): Outcome => ({
  status: 'rejected',
  code,
  detail,
});

export const headIsLocked = rejected('unavailable', 'the log is busy; retry with the same id');

// Retention started detaching it, and a long read delays that: a new partition is needed.
const partitionIsDetaching = rejected(
  'unavailable',
  'retention is removing the partition for this timestamp; retry with the same id',
);

/** The outcome of events whose flush failed, or of the one event that made it fail. */
export function failure(error: unknown): Outcome {
  if (error instanceof AppError) return rejected(error.code, error.message);
  const reason = unavailability(error);
  if (reason !== null) return rejected('unavailable', `${reason}; retry with the same id`);
  if (isMissingPartition(error)) return partitionIsDetaching;
  // Data, constraints, and limits such as that of an index row: errors of one event.
  if (/^(22|23|54)/.test(codeOf(error) ?? ''))
    return rejected('validation_failed', 'the event cannot be stored as it is');
  return rejected('internal_error', 'the event was not recorded');
}

export const unknownTenant = rejected(
  'unknown_tenant',
  'there is no such tenant; create it with PUT /api/tenants/{id}',
);

export const closedTenant = rejected(
  'unknown_tenant',
  'the tenant was offboarded or abandoned: its log accepts no more events',
);

export const damagedLog = rejected('unavailable', damagedSentence);

import type { ErrorCode } from '@indelible/protocol';
import { AppError } from '../http/problem.ts';
import { damagedSentence } from '../log/store.ts';
import { unavailability } from '../postgres/db.ts';
import { codeOf } from '../postgres/embedded/error-code.ts';
import { isMissingPartition } from './partitions.ts';
import type { Outcome } from './record-queue.ts';

/* Why a flush did not record an event, in words of its caller. */

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
  'the tenant was offboarded: its log accepts no more events',
);

export const damagedLog = rejected('unavailable', damagedSentence);

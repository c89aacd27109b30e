import { eventIdFromUuid, formatTimestamp, nilUuid } from '@indelible/protocol';
import type { OwnEvent } from '../own-event.ts';
import type { Rewritten } from './elsewhere.store.ts';
import type { Erasure } from './store.ts';

/** Who orders an erasure, and why: an operator at the command line. */
export interface Requester {
  operatorEmail: string;
  reason: string;
}

/**
 * The record of an erasure, without names. `indelible verify` compares `after` with erased
 * segments: those of events below `size` by one of `actors`, except operators, and of these
 * `events`.
 */
export function erasureEvent(erasure: Erasure, count: number, requester: Requester): OwnEvent {
  const { tenantId, id, segment, actors, events, size } = erasure;
  return {
    ...by(requester),
    action: 'erase',
    resource: { type: 'audit_log', id: tenantId, name: 'Audit log' },
    diff: {},
    after: { erasureId: id, segment, actors, events: events.map(eventIdFromUuid), size, count },
  };
}

/**
 * The record of the query that an erasure has left in a saved search. Its former one, with the
 * address, is in the record of the search. Without this record, another result is damage.
 */
export function rewrittenEvent({ id, filters }: Rewritten, requester: Requester): OwnEvent {
  return {
    ...by(requester),
    action: 'update',
    resource: { type: 'search', id, name: null },
    diff: {},
    after: { filters: JSON.parse(filters) },
  };
}

export interface Offboarded {
  tenantId: string;
  /** Of the log: every event below it is removed. */
  size: number;
  count: number;
  /** Later than the time of every removed event. */
  cutoffMs: number;
  bundle: BundleFacts;
}

/** The bundle that was made: its size, and the digest of its list of checksums. */
export interface BundleFacts {
  /** Of the log, as in its checkpoint. */
  origin: string;
  size: number;
  events: number;
  sha256: string;
}

/** The record that remains of an offboarded tenant, and explains why its events are missing. */
export function offboardingEvent(offboarded: Offboarded, requester: Requester): OwnEvent {
  const { tenantId, size, count, cutoffMs, bundle } = offboarded;
  return {
    ...by(requester),
    action: 'delete',
    resource: { type: 'tenant', id: tenantId, name: null },
    diff: {},
    after: { cutoff: formatTimestamp(cutoffMs), size, count, bundle: { ...bundle } },
  };
}

function by({ operatorEmail, reason }: Requester) {
  const actor = {
    id: nilUuid,
    email: operatorEmail,
    role: 'superadmin',
    ip: null,
    userAgent: null,
  };
  return { actor, reason };
}

import { eventIdFromUuid, formatTimestamp } from '@indelible/protocol';
import { actOf, byItself, type OwnEvent, type Who } from '../own-event.ts';
import type { NamedQueries } from './named-queries.store.ts';
import type { Erasure } from './store.ts';

/** Who orders an erasure, and why: an operator at the command line. */
export interface Requester {
  operatorEmail: string;
  reason: string;
}

/**
 * The record of an erasure, without names. `indelible verify` compares `after` with erased
 * segments: those of events below `size` by one of `actors`, except operators, and of these
 * `events`. `deleted` lists the stored queries that are deleted with it.
 */
export function erasureEvent(
  erasure: Erasure,
  count: number,
  deleted: NamedQueries | null,
  requester: Requester,
): OwnEvent {
  const { tenantId, id, segment, actors, events, size } = erasure;
  const covered = { segment, actors, events: events.map(eventIdFromUuid), size, count };
  const after = { ...covered, ...(deleted && { deleted }) };
  const resource = { type: 'audit_log', id: tenantId, name: 'Audit log' };
  return actOf(by(requester), 'erase', resource, { after: { erasureId: id, ...after } });
}

export interface Offboarded {
  tenantId: string;
  /** The size of the log: every event below it is removed. */
  size: number;
  count: number;
  /** Later than the time of every removed event. */
  cutoffMs: number;
  bundle: BundleFacts;
}

/** The bundle that was made: its size, and the digest of its list of checksums. */
export interface BundleFacts {
  /** The origin of the log, as in its checkpoint. */
  origin: string;
  size: number;
  events: number;
  sha256: string;
}

/** The record that remains of an offboarded tenant, and explains why its events are missing. */
export function offboardingEvent(offboarded: Offboarded, requester: Requester): OwnEvent {
  const { tenantId, size, count, cutoffMs, bundle } = offboarded;
  const after = { cutoff: formatTimestamp(cutoffMs), size, count, bundle: { ...bundle } };
  return actOf(by(requester), 'delete', { type: 'tenant', id: tenantId, name: null }, { after });
}

const by = ({ operatorEmail: email, reason }: Requester): Who => ({
  actor: { ...byItself, email, role: 'superadmin' },
  reason,
});

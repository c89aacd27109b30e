import type { AuditEvent } from '@indelible/client';
import { isErased } from '../../components/Erased.tsx';

/** What one operator did for one reason, without a pause of more than half an hour. */
export interface Visit {
  /** The id of its newest event on this page. */
  key: string;
  fromMs: number;
  toMs: number;
  /** The events of the visit, in the order of the list. */
  events: readonly [AuditEvent, ...AuditEvent[]];
}

/** Longer than a record stands for the same look, so that looking on is one visit. */
const pauseMs = 30 * 60_000;

/** The visits of a page of operators' events, which is in order of time, in any direction. */
export function visitsOf(events: readonly AuditEvent[]): Visit[] {
  const visits: Visit[] = [];
  const latest = new Map<string, Visit>();
  for (const event of events) {
    const kind = kindOf(event);
    const atMs = Date.parse(event.timestamp);
    const open = latest.get(kind);
    if (open && atMs >= open.fromMs - pauseMs && atMs <= open.toMs + pauseMs) {
      open.fromMs = Math.min(open.fromMs, atMs);
      open.toMs = Math.max(open.toMs, atMs);
      open.events = [...open.events, event];
    } else {
      const visit: Visit = { key: event.id, fromMs: atMs, toMs: atMs, events: [event] };
      latest.set(kind, visit);
      visits.push(visit);
    }
  }
  return visits;
}

/** Records that another program attests never join the service's own. */
function kindOf(event: AuditEvent): string {
  const { actor, onBehalfOf, reason, recordedBy } = event;
  const by = [recordedBy.kind, recordedBy.id];
  return JSON.stringify([actor.id, actor.email, onBehalfOf, reason, isUnexplained(event), by]);
}

/** An erased reason is not a missing one: the log records the erasure. */
export function isUnexplained(event: AuditEvent): boolean {
  return event.reason === null && !isErased(event, 'change');
}

/** Whether the service recorded that an operator looked at something: then `after` says at what. */
export function isLook({ recordedBy, action, resource }: AuditEvent): boolean {
  return recordedBy.kind === 'service' && action === 'access' && resource.type === 'audit_log';
}

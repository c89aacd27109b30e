import type { AuditEvent } from '@indelible/client';

/** A raised alert, and the record of the person who acknowledged it. */
export interface RaisedAlert {
  event: AuditEvent;
  acknowledged: AuditEvent | undefined;
}

/**
 * The alerts among these events. Only the service raises and acknowledges them: any producer can
 * record events that look the same, and would hide an alert so.
 */
export function raisedAlerts(
  raised: readonly AuditEvent[],
  acknowledged: readonly AuditEvent[],
): RaisedAlert[] {
  const byAlert = new Map(acknowledged.filter(isOwn).map((each) => [each.correlationId, each]));
  return raised.filter(isOwn).map((event) => ({ event, acknowledged: byAlert.get(event.id) }));
}

const isOwn = ({ recordedBy }: AuditEvent) => recordedBy.kind === 'service';

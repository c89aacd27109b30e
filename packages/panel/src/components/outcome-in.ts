import type { AuditEvent } from '@indelible/client';
import { type Outcome, outcomeSaid } from '@indelible/protocol';

/** Earlier records of the service hold the outcome in their state alone. */
const formerly = new Map<unknown, Outcome>([
  ['applied', 'success'],
  ['refused', 'denied'],
  ['failed', 'failure'],
]);

/** How the action ended; null if the event does not say it. */
export function outcomeIn({ outcome, action, recordedBy, after }: AuditEvent): Outcome | null {
  const inState = recordedBy.kind === 'service' ? formerly.get(after?.outcome) : undefined;
  return outcomeSaid(outcome ?? inState, action);
}

import { formatTimestamp } from '@indelible/protocol';
import { byItself, type OwnEvent } from '../own-event.ts';
import type { RemovedEvents } from './removal.job.ts';

/**
 * The record of a removal. `after` is what `indelible verify` holds against entries without an
 * event: those below `size` whose time is before `cutoff` may be gone, and no others.
 */
export function removalEvent({ tenantId, plan, cutoffMs, size, count }: RemovedEvents): OwnEvent {
  const cutoff = formatTimestamp(cutoffMs);
  return {
    actor: byItself,
    action: 'delete',
    resource: { type: 'retention', id: tenantId, name: 'Retention' },
    diff: {},
    after: { cutoff, size, count, policy: plan },
    reason: `${count} expired event(s) from before ${cutoff} are removed: retention of the plan ${plan}.`,
  };
}

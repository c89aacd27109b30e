import type { EventInput } from '../../index.ts';

/** The event of a queue's n-th change, from 1. */
export function changeEvent(tenantId: string, queueId: string, change: number): EventInput {
  return {
    tenantId,
    actor: { id: '0e4b7a36-52f4-4f0f-8f5e-7d1f5c3b2a19', email: 'ana@example.com', role: 'admin' },
    action: 'update',
    resource: { type: 'queue', id: queueId, name: 'Support' },
    diff: { changes: { from: change - 1, to: change } },
  };
}

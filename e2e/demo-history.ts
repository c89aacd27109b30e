import { uuidFromEventId, uuidTimeMs } from '@indelible/protocol';
import { demoHistory } from '../packages/cli/src/demo/history.ts';
import { demoTenants, loadDemo } from '../packages/cli/src/demo/load-demo.ts';
import type { OpenPanel } from './open-panel.ts';

export const dayMs = 86_400_000;

const [tenant] = demoTenants;
const { cast, seed, settings } = tenant;

export const demoTenant = { tenantId: cast.tenantId, settings };

/** Records the first tenant of the demonstration; its events, oldest first. */
export async function demoIn({ client }: OpenPanel) {
  const nowMs = Date.now();
  await loadDemo(client, nowMs, [tenant]);
  const history = demoHistory(cast, seed, nowMs).map((event) => ({
    ...event,
    id: event.id ?? '',
    ms: uuidTimeMs(uuidFromEventId(event.id ?? '') ?? ''),
  }));
  return { nowMs, history, lastMonth: history.filter(({ ms }) => ms >= nowMs - 30 * dayMs) };
}

export const idsOf = (events: readonly { id: string }[]) => events.map(({ id }) => id);

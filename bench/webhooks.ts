import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { performance } from 'node:perf_hooks';
import type { BenchService } from './bench-service.ts';
import { benchEvent } from './events.ts';
import { percentile } from './load.ts';
import type { Report, Size } from './report.ts';

const batchSize = 500;

/**
 * Delivery to one endpoint on loopback: a backlog as
 * fast as it goes, then single events, to their arrival.
 */
export async function benchWebhooks(
  service: BenchService,
  report: Report,
  { count: events }: Size,
): Promise<void> {
  const receiver = await countingReceiver();
  const made = await service.tenant('events:write', 'events:read', 'webhooks:write');
  const tenant = Object.assign(made.call, { id: made.id });
  const { id } = await tenant<{ id: string }>('POST', '/api/webhooks', { url: receiver.url });
  await tenant('POST', `/api/webhooks/${id}/pause`);
  for (let sent = 0; sent < events; sent += batchSize) {
    const length = Math.min(batchSize, events - sent);
    const batch = Array.from({ length }, () => benchEvent(tenant.id));
    await tenant('POST', '/api/audit-logs/batch', { events: batch });
  }
  const before = service.memory().now;
  const began = performance.now();
  await tenant('POST', `/api/webhooks/${id}/resume`);
  await receiver.until(events);
  const seconds = (performance.now() - began) / 1_000;
  const what = `webhook delivery, ${events} events to one endpoint on loopback`;
  report.target(what, events / seconds, 2_000, 'events/s', receiver.repeated());
  report.add('memory it took of the service', `${mib(service.memory().now - before)} MiB`);
  await benchArrival(tenant, report, receiver, Math.min(50, events / 100));
  await receiver.close();
}

const mib = (bytes: number) => Math.round(bytes / 2 ** 20);

/** From the call that records an event to its arrival at the receiver. */
async function benchArrival(
  tenant: Tenant,
  report: Report,
  receiver: Receiver,
  lone: number,
): Promise<void> {
  const latencies = new Float64Array(lone);
  for (let at = 0; at < lone; at++) {
    const expected = receiver.count() + 1;
    const began = performance.now();
    await tenant('POST', '/api/audit-logs', benchEvent(tenant.id));
    await receiver.until(expected);
    latencies[at] = performance.now() - began;
  }
  latencies.sort();
  const [p50, p99] = [percentile(latencies, 0.5), percentile(latencies, 0.99)];
  report.latency('webhook, from recording an event to its arrival', p50, p99, 1_000);
}

type Receiver = Awaited<ReturnType<typeof countingReceiver>>;

async function countingReceiver() {
  const seen = new Set<string>();
  let repeated = 0;
  let waiting: { count: number; resolve: () => void } | null = null;
  const server = createServer(async (request, response) => {
    let raw = '';
    for await (const chunk of request.setEncoding('utf8')) raw += chunk;
    for (const event of JSON.parse(raw).data.events) {
      // The service's own records of what was done to the webhook are not what is counted.
      if (event.recordedBy.kind === 'service') continue;
      if (seen.has(event.id)) repeated += 1;
      seen.add(event.id);
    }
    response.writeHead(204).end();
    if (waiting && seen.size >= waiting.count) waiting.resolve();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    count: () => seen.size,
    repeated: () => repeated,
    until: (count: number) =>
      new Promise<void>((resolve) => {
        waiting = { count, resolve };
        if (seen.size >= count) resolve();
      }),
    close: async () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

type Tenant = BenchService['call'] & { id: string };

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
  { count: events, rounds }: Size,
): Promise<void> {
  const receiver = await countingReceiver();
  const made = await service.tenant('events:write', 'events:read', 'webhooks:write');
  const tenant = Object.assign(made.call, { id: made.id });
  const { id } = await tenant<{ id: string }>('POST', '/api/webhooks', { url: receiver.url });
  const before = service.memory().now;
  let most = before;
  const prepare = async () => {
    await tenant('POST', `/api/webhooks/${id}/pause`);
    for (let sent = 0; sent < events; sent += batchSize) {
      const batch = eventsOf(tenant.id, Math.min(batchSize, events - sent));
      await tenant('POST', '/api/audit-logs/batch', { events: batch });
    }
  };
  const delivering = async () => {
    const expected = receiver.count() + events;
    const began = performance.now();
    await tenant('POST', `/api/webhooks/${id}/resume`);
    await receiver.until(expected);
    most = Math.max(most, service.memory().now);
    return events / ((performance.now() - began) / 1_000);
  };
  await report.compare(
    {
      what: `webhook delivery, ${events} events to one endpoint on loopback`,
      prepare,
      unit: 'events/s',
      measure: delivering,
      target: { least: 2_000 },
      limit: { what: 'POSTs of 100 made beforehand', measure: () => barePosts(events) },
    },
    rounds,
  );
  const twice = receiver.repeated();
  report.add('events delivered twice', String(twice), '0', twice === 0);
  report.add('memory it took of the service', `${mib(most - before)} MiB`);
  await benchArrival(tenant, report, receiver, Math.min(50, events / 100));
  await receiver.close();
}

const eventsOf = (tenantId: string, length: number) =>
  Array.from({ length }, () => benchEvent(tenantId));

/** Events a second that a receiver takes, one request after the other. */
async function barePosts(events: number): Promise<number> {
  const receiver = await countingReceiver();
  const bodies = Array.from({ length: Math.ceil(events / 100) }, (_, n) => {
    const sent = eventsOf('', 100).map((event, at) => {
      return { ...event, id: `${n}-${at}`, recordedBy: { kind: 'api_key' } };
    });
    return JSON.stringify({ data: { events: sent } });
  });
  const began = performance.now();
  for (const body of bodies) await (await fetch(receiver.url, { method: 'POST', body })).text();
  const seconds = (performance.now() - began) / 1_000;
  await receiver.close();
  return (bodies.length * 100) / seconds;
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

import { randomUUID } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import type { BenchService } from './bench-service.ts';
import { benchEvent } from './events.ts';
import { percentile } from './load.ts';
import type { Report } from './report.ts';
import { seedEvents } from './seed.ts';

const eventsPerSecond = 1_000;
const batchesPerSecond = 10;
const rules = 100;

/** A hundred rules beside a tenant's thousand events a second; then tests of rules on the past. */
export async function benchAlerts(
  service: BenchService,
  report: Report,
  events: number,
  seconds: number,
): Promise<void> {
  const tenant = await makeTenant(service);
  for (const round of [1, 2]) {
    const without = await paced(tenant, seconds);
    const made = await makeRules(tenant);
    const beside = await paced(tenant, seconds);
    const { behind } = await tenant('GET', '/api/alert-rules');
    for (const id of made) await tenant('DELETE', `/api/alert-rules/${id}`);
    const what = `${eventsPerSecond} events/s of one tenant, round ${round}`;
    report.latency(`${what}: a batch of 100`, ...without, 250);
    report.latency(`${what}: beside ${rules} rules`, ...beside, 250);
    report.add(`${what}: not evaluated at the end`, `${behind} entries`, '≤ 2000');
  }
  await benchTests(service, report, tenant.id, events);
}

type Tenant = Awaited<ReturnType<typeof makeTenant>>;

/** Batches at even pauses; p50 and p99 of their latency in milliseconds. */
async function paced(tenant: Tenant, seconds: number): Promise<[number, number]> {
  const size = eventsPerSecond / batchesPerSecond;
  const latencies: number[] = [];
  const began = performance.now();
  const sent: Promise<void>[] = [];
  for (let n = 0; n < seconds * batchesPerSecond; n++) {
    await delay(Math.max(0, began + (n * 1_000) / batchesPerSecond - performance.now()));
    const batch = Array.from({ length: size }, () => benchEvent(tenant.id));
    const from = performance.now();
    sent.push(
      tenant('POST', '/api/audit-logs/batch', { events: batch }).then(() => {
        latencies.push(performance.now() - from);
      }),
    );
  }
  await Promise.all(sent);
  const sorted = Float64Array.from(latencies).sort();
  return [percentile(sorted, 0.5), percentile(sorted, 0.99)];
}

const kinds = [
  { kind: 'match', filters: { action: ['delete'], resource: ['queue'] } },
  { kind: 'match', filters: { category: ['security'], outcome: ['failure'] } },
  {
    ...{ kind: 'threshold', filters: { action: ['access'] } },
    ...{ count: 1_000, windowMinutes: 60, groupBy: 'actor' },
  },
  {
    ...{ kind: 'threshold', filters: { resource: ['queue', 'did'] } },
    ...{ count: 1_000, windowMinutes: 10, groupBy: 'resource' },
  },
  { kind: 'first_seen', filters: { action: ['login'] }, groupBy: 'ip' },
];

async function makeRules(tenant: Tenant): Promise<string[]> {
  const made: string[] = [];
  for (let n = 0; n < rules; n++) {
    const rule = { name: `Rule ${n}`, ...kinds[n % kinds.length] };
    made.push((await tenant('POST', '/api/alert-rules', rule)).id);
  }
  return made;
}

/** Rules over all events of a tenant. */
async function benchTests(
  service: BenchService,
  report: Report,
  tenantId: string,
  events: number,
): Promise<void> {
  await seedEvents(service, tenantId, events);
  const tenant = asTenant(service, tenantId);
  const tested = [
    { name: 'all', kind: 'threshold', filters: {}, count: 1_000, windowMinutes: 60 },
    { name: 'by actor', ...kinds[2] },
    { name: 'rare', kind: 'match', filters: { action: ['delete'] } },
    { name: 'first seen', kind: 'first_seen', filters: { action: ['login'] }, groupBy: 'ip' },
  ];
  for (const rule of tested) {
    const began = performance.now();
    const body = { rule, since: '2016-01-01' };
    const { matched, total } = await tenant('POST', '/api/alert-rules/test', body);
    const seconds = (performance.now() - began) / 1_000;
    const what = `test of a rule (${rule.name}) over ${events} events, ${matched} match, ${total} alerts`;
    report.add(what, `${seconds.toFixed(1)} s`, '≤ 60 s', seconds <= 60 ? 'yes' : 'no');
  }
}

async function makeTenant(service: BenchService) {
  const id = randomUUID();
  const tenant = asTenant(service, id);
  await tenant('PUT', `/api/tenants/${id}`, { name: 'Watched', plan: 'Enterprise' });
  return tenant;
}

function asTenant({ url, key }: BenchService, id: string) {
  const headers = {
    ...{ authorization: `Bearer ${key}`, 'x-tenant-id': id, 'x-access-reason': 'bench' },
  };
  const call = async (method: string, path: string, body?: object) => {
    const sent = body
      ? {
          headers: { ...headers, 'content-type': 'application/json' },
          body: JSON.stringify(body),
        }
      : { headers };
    const answer = await fetch(url + path, { method, ...sent });
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
    const text = await answer.text();
    return text === '' ? null : JSON.parse(text);
  };
  return Object.assign(call, { id });
}

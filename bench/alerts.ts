import { randomUUID } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import type { BenchService } from './bench-service.ts';
import { benchEvent } from './events.ts';
import type { Report, Size } from './report.ts';
import { seedEvents } from './seed.ts';

const eventsPerSecond = 1_000;
const batchesPerSecond = 10;

/** A hundred rules beside a tenant's thousand events a second; then tests of rules on the past. */
export async function benchAlerts(
  service: BenchService,
  report: Report,
  { count: events, seconds, rounds }: Size,
): Promise<void> {
  const tenant = await makeTenant(service);
  const rules = Math.min(100, events / 50);
  let mostBehind = 0;
  const beside = async () => {
    const made = await makeRules(tenant, rules);
    const latencies = await paced(tenant, seconds);
    const { behind } = await tenant<{ behind: number }>('GET', '/api/alert-rules');
    mostBehind = Math.max(mostBehind, behind);
    for (const id of made) await tenant('DELETE', `/api/alert-rules/${id}`);
    return latencies;
  };
  const what = `${eventsPerSecond} events/s of one tenant`;
  await report.compareLatencies(
    {
      what: `${what}, a batch of 100 beside ${rules} rules`,
      measure: beside,
      p99Max: 250,
      limit: { what: 'without rules', measure: () => paced(tenant, seconds) },
    },
    rounds,
  );
  report.add(`${what}: not evaluated at the end, at most`, `${mostBehind} entries`, '≤ 2000');
  await benchTests(service, report, tenant.id, events);
}

type Tenant = ReturnType<typeof asTenant>;

/** Batches at even pauses; their latencies in milliseconds, sorted. */
async function paced(tenant: Tenant, seconds: number): Promise<Float64Array> {
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
  return Float64Array.from(latencies).sort();
}

const kinds = [
  { kind: 'match', filters: { action: ['delete'], resource: ['queue'] } },
  { kind: 'match', filters: { category: ['security'], outcome: ['failure'] } },
  {
    kind: 'threshold',
    filters: { action: ['access'] },
    count: 1_000,
    windowMinutes: 60,
    groupBy: 'actor',
  },
  {
    kind: 'threshold',
    filters: { resource: ['queue', 'did'] },
    count: 1_000,
    windowMinutes: 10,
    groupBy: 'resource',
  },
  { kind: 'first_seen', filters: { action: ['login'] }, groupBy: 'ip' },
];

async function makeRules(tenant: Tenant, rules: number): Promise<string[]> {
  const made: string[] = [];
  for (let n = 0; n < rules; n++) {
    const rule = { name: `Rule ${n}`, ...kinds[n % kinds.length] };
    made.push((await tenant<{ id: string }>('POST', '/api/alert-rules', rule)).id);
  }
  return made;
}

interface Tested {
  matched: number;
  total: number;
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
    const path = '/api/alert-rules/test';
    const { matched, total } = await tenant<Tested>('POST', path, body);
    const seconds = (performance.now() - began) / 1_000;
    const what = `test of a rule (${rule.name}) over ${events} events, ${matched} match, ${total} alerts`;
    report.add(what, `${seconds.toFixed(1)} s`, '≤ 60 s', seconds <= 60);
  }
}

async function makeTenant(service: BenchService) {
  const id = randomUUID();
  const tenant = asTenant(service, id);
  await tenant('PUT', `/api/tenants/${id}`, { name: 'Watched', plan: 'Enterprise' });
  return tenant;
}

/** Calls of the platform about one tenant. */
export function asTenant({ call }: BenchService, id: string) {
  const headers = { 'x-tenant-id': id, 'x-access-reason': 'bench' };
  const asked: BenchService['call'] = (method, path, body) => call(method, path, body, headers);
  return Object.assign(asked, { id });
}

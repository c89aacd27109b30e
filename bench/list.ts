import { randomUUID } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import type { BenchService } from './bench-service.ts';
import { percentile } from './load.ts';
import type { Report } from './report.ts';
import { seedEvents } from './seed.ts';

const rounds = 200;

/**
 * Lists and statistics over many events in many partitions: every filter, first and 1,000th page.
 */
export async function benchList(
  service: BenchService,
  report: Report,
  events: number,
): Promise<void> {
  const tenantId = randomUUID();
  const get = await reader(service, tenantId);
  const seconds = await seedEvents(service, tenantId, events);
  report.add(
    `${events} events of one tenant in ${84} monthly partitions`,
    `made in ${Math.round(seconds)} s`,
  );
  const sample = (await get('/api/audit-logs?limit=1&page=50000')).data[0];
  if (!sample) throw new Error('nothing was seeded');
  const filters: Record<string, string> = {
    'no filter': '',
    'user (e-mail)': `user=${sample.actor.email}`,
    'user (id)': `user=${sample.actor.id}`,
    'two users': `user=${sample.actor.id}&user=agent7@example.com`,
    action: 'action=update',
    'two actions': 'action=update&action=login',
    'not this action': 'action=!access',
    resource: 'resource=queue',
    resource_id: `resource_id=${sample.resource.id}`,
    cross_tenant: 'cross_tenant=true',
    category: 'category=security',
    range: `from=2024-01-01&to=2024-02-01`,
    'user and action and resource': `user=${sample.actor.id}&action=update&resource=agent`,
    'sort=user': 'sort=user',
  };
  for (const [name, filter] of Object.entries(filters)) {
    const first = `/api/audit-logs?limit=50&${filter}`;
    await measure(report, `list, ${name}, first page`, () => get(first));
    const deep = await thousandth(get, first);
    if (deep) await measure(report, `list, ${name}, 1,000th page by cursor`, () => get(deep));
    if (deep)
      await measure(
        report,
        `list, ${name}, 1,000th page by number`,
        () => get(`${first}&page=1000`),
        30,
      );
  }
  for (const query of ['group_by=day', 'group_by=user', 'group_by=action,resource']) {
    await measure(
      report,
      `stats, ${query}, last 30 days`,
      () => get(`/api/audit-logs/stats?${query}`),
      30,
    );
  }
  report.memory('peak under reading load', service.memory().peak);
}

type Get = (path: string) => Promise<{
  data: { actor: { id: string; email: string }; resource: { id: string } }[];
  pagination: { nextCursor: string | null };
}>;

async function reader(service: BenchService, tenantId: string): Promise<Get> {
  const call = async (method: string, path: string, key: string, body?: object) => {
    const init = {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    };
    const answer = await fetch(
      service.url + path,
      body ? { ...init, body: JSON.stringify(body) } : init,
    );
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
    return JSON.parse(await answer.text());
  };
  await call('PUT', `/api/tenants/${tenantId}`, service.key, { name: 'Large', plan: 'Enterprise' });
  const made = await call('POST', `/api/tenants/${tenantId}/api-keys`, service.key, {
    name: 'bench',
    scopes: ['events:read'],
  });
  return (path) => call('GET', path, made.key);
}

/**
 * The address of the page behind 50,000 events: reached
 * in steps of 500, as cursors go with any limit.
 */
async function thousandth(get: Get, first: string): Promise<string | null> {
  const wide = first.replace('limit=50', 'limit=500');
  let path = wide;
  for (let seen = 0; seen < 50_000; seen += 500) {
    const { pagination } = await get(path);
    if (pagination.nextCursor === null) return null;
    path = `${wide}&cursor=${pagination.nextCursor}`;
  }
  return path.replace('limit=500', 'limit=50');
}

async function measure(
  report: Report,
  what: string,
  run: () => Promise<unknown>,
  times = rounds,
): Promise<void> {
  for (let warm = 0; warm < 10; warm++) await run();
  const latencies = new Float64Array(times);
  for (let i = 0; i < times; i++) {
    const started = performance.now();
    await run();
    latencies[i] = performance.now() - started;
  }
  latencies.sort();
  const [p50, p99] = [percentile(latencies, 0.5), percentile(latencies, 0.99)];
  if (what.startsWith('list')) report.latency(what, p50, p99, 25, 5);
  else report.add(what, `p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms`);
}

import type { BenchService } from './bench-service.ts';
import { latenciesOf, percentile } from './load.ts';
import type { Report, Size } from './report.ts';
import { seedEvents } from './seed.ts';

/**
 * Lists and statistics over many events in many partitions: every filter, first and 1,000th page.
 */
export async function benchList(
  service: BenchService,
  report: Report,
  { count: events }: Size,
): Promise<void> {
  const times = Math.min(200, events / 1_000);
  const depth = Math.min(50_000, events / 5);
  const { id: tenantId, call } = await service.tenant('events:read');
  const get: Get = (path) => call('GET', path);
  const seconds = await seedEvents(service, tenantId, events);
  report.add(
    `${events} events of one tenant in ${84} monthly partitions`,
    `made in ${Math.round(seconds)} s`,
  );
  const sample = (await get(`/api/audit-logs?limit=1&page=${depth}`)).data[0];
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
    await measure(report, `list, ${name}, first page`, times, () => get(first));
    const deep = await behind(get, first, depth);
    if (deep === null) continue;
    const page = Math.floor(depth / 50);
    await measure(report, `list, ${name}, page ${page} by cursor`, times, () => get(deep));
    const numbered = () => get(`${first}&page=${page}`);
    await measure(report, `list, ${name}, page ${page} by number`, Math.min(times, 30), numbered);
  }
  for (const query of ['group_by=day', 'group_by=user', 'group_by=action,resource']) {
    await measure(report, `stats, ${query}, last 30 days`, Math.min(times, 30), () =>
      get(`/api/audit-logs/stats?${query}`),
    );
  }
  report.memory('peak under reading load', service.memory().peak);
}

type Get = (path: string) => Promise<{
  data: { actor: { id: string; email: string }; resource: { id: string } }[];
  pagination: { nextCursor: string | null };
}>;

/** The address of the page behind so many events: cursors go with any limit. */
async function behind(get: Get, first: string, depth: number): Promise<string | null> {
  const wide = first.replace('limit=50', 'limit=500');
  let path = wide;
  for (let seen = 0; seen < depth; seen += 500) {
    const { pagination } = await get(path);
    if (pagination.nextCursor === null) return null;
    path = `${wide}&cursor=${pagination.nextCursor}`;
  }
  return path.replace('limit=500', 'limit=50');
}

async function measure(
  report: Report,
  what: string,
  times: number,
  run: () => Promise<unknown>,
): Promise<void> {
  const latencies = await latenciesOf(times, run);
  const [p50, p99] = [percentile(latencies, 0.5), percentile(latencies, 0.99)];
  if (what.startsWith('list')) report.latency(what, p50, p99, 25, 5);
  else report.add(what, `p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms`);
}

import type { BenchService } from './bench-service.ts';
import { latenciesOf, percentile } from './load.ts';
import { median, type Report, type Size } from './report.ts';
import { seedEvents } from './seed.ts';

/**
 * Lists and statistics over many events in many partitions: every filter, first and 1,000th page,
 * beside the newest fifty rows by SQL.
 */
export async function benchList(
  service: BenchService,
  report: Report,
  { count: events, rounds }: Size,
): Promise<void> {
  const times = Math.min(200, events / 1_000);
  const depth = Math.min(50_000, events / 5);
  const { id: tenantId, call } = await service.tenant('events:read');
  const get: Get = (path) => call('GET', path);
  const newest = () =>
    service.owner.query({
      name: 'newest',
      text: 'SELECT * FROM audit_events WHERE tenant_id = $1 ORDER BY id DESC LIMIT 50',
      values: [tenantId],
    });
  const sizes = { times, rounds };
  const few = { times: Math.min(times, 30), rounds };
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
    await measure(report, `list, ${name}, first page`, sizes, newest, () => get(first));
    const deep = await behind(get, first, depth);
    if (deep === null) continue;
    const page = Math.floor(depth / 50);
    await measure(report, `list, ${name}, page ${page} by cursor`, sizes, newest, () => get(deep));
    const numbered = () => get(`${first}&page=${page}`);
    await measure(report, `list, ${name}, page ${page} by number`, few, newest, numbered);
  }
  for (const query of ['group_by=day', 'group_by=user', 'group_by=action,resource']) {
    const stats = () => get(`/api/audit-logs/stats?${query}`);
    await measure(report, `stats, ${query}, last 30 days`, few, newest, stats);
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

/** Of a list the 99th percentile too. */
async function measure(
  report: Report,
  what: string,
  { times, rounds }: { times: number; rounds: number },
  newest: () => Promise<unknown>,
  run: () => Promise<unknown>,
): Promise<void> {
  const slowest: number[] = [];
  const p50Of = (run: () => Promise<unknown>, keep?: number[]) => async () => {
    const latencies = await latenciesOf(times, run);
    keep?.push(percentile(latencies, 0.99));
    return percentile(latencies, 0.5);
  };
  const most = what.startsWith('stats') || what.endsWith('by number') ? 15 : 3;
  await report.compare(
    {
      ...{ what: `${what}, p50`, unit: 'ms', measure: p50Of(run, slowest), target: { most } },
      limit: { what: 'the newest 50 rows by SQL, p50', measure: p50Of(newest) },
    },
    rounds,
  );
  if (most === 3) report.atMost(`${what}, p99`, median(slowest), 15);
}

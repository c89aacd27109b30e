import type { BenchService } from './bench-service.ts';
import { latenciesOf } from './load.ts';
import type { Report, Size } from './report.ts';
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
  const few = Math.min(times, 30);
  const measure = (
    what: string,
    path: string,
    targets: { p50Max: number; p99Max?: number },
    repeats = times,
  ) =>
    report.compareLatencies(
      {
        ...{ what, measure: () => latenciesOf(repeats, () => get(path)), ...targets },
        limit: { what: 'the newest 50 rows by SQL', measure: () => latenciesOf(repeats, newest) },
      },
      rounds,
    );
  const quick = { p50Max: 3, p99Max: 15 };
  const numbered = { p50Max: 15, p99Max: 25 };
  const seconds = await seedEvents(service, tenantId, events);
  report.add(
    `${events} events of one tenant in ${84} monthly partitions`,
    `made in ${Math.round(seconds)} s`,
  );
  const sample = (await get(`/api/audit-logs?limit=1&page=${depth}`)).data[0];
  if (!sample) throw new Error('nothing was seeded');
  for (const [name, filter] of Object.entries(filtersOf(sample))) {
    const first = `/api/audit-logs?limit=50&${filter}`;
    await measure(`list, ${name}, first page`, first, quick);
    const page = Math.floor(depth / 50);
    const deep = await behind(get, first, page);
    if (deep === null) continue;
    await measure(`list, ${name}, page ${page} by cursor`, deep, quick);
    const what = `list, ${name}, page ${page} by number`;
    await measure(what, `${first}&page=${page}`, numbered, few);
  }
  for (const keys of ['day', 'user', 'day,user', 'action,resource']) {
    const query = `group_by=${keys}`;
    const path = `/api/audit-logs/stats?${query}`;
    await measure(`stats, ${query}, last 30 days`, path, { p50Max: 15 }, few);
  }
  report.memory('peak under reading load', service.memory().peak);
}

type Sample = { actor: { id: string; email: string }; resource: { id: string } };

function filtersOf(sample: Sample): Record<string, string> {
  return {
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
    'sort=user, two users': `sort=user&user=${sample.actor.id}&user=agent7@example.com`,
    'oldest first': 'order=asc',
  };
}

type Get = (path: string) => Promise<{
  data: Sample[];
  pagination: { nextCursor: string | null };
}>;

/** The address of the page behind so many pages of this list; null: it has no more. */
async function behind(get: Get, first: string, pages: number): Promise<string | null> {
  const { pagination } = await get(`${first}&page=${pages}`);
  return pagination.nextCursor && `${first}&cursor=${pagination.nextCursor}`;
}

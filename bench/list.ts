import type { BenchService } from './bench-service.ts';
import { openConnection, percentile, requestOf } from './load.ts';
import type { Report, Size } from './report.ts';
import { seedEvents } from './seed.ts';

/**
 * Lists and statistics over many events in many partitions: every filter, first and 200th page,
 * beside the newest fifty rows by SQL.
 */
export async function benchList(
  service: BenchService,
  report: Report,
  { count: events }: Size,
): Promise<void> {
  const tenant = await service.tenant('events:read');
  const seconds = await seedEvents(service, tenant.id, events);
  report.add(
    `${events} events of one tenant in ${84} monthly partitions`,
    `made in ${Math.round(seconds)} s`,
  );
  const questions = await questionsOf(
    (path) => tenant.call('GET', path),
    Math.min(10_000, events / 5),
  );
  const { exchange, close } = openConnection(service.url);
  const asking = (path: string) => {
    const request = requestOf('GET', path, tenant.key);
    return async () => {
      const status = await exchange(request);
      if (status !== 200) throw new Error(`${path}: ${status}`);
    };
  };
  const newest = () =>
    service.owner.query({
      name: 'newest',
      text: 'SELECT * FROM audit_events WHERE tenant_id = $1 ORDER BY id DESC LIMIT 50',
      values: [tenant.id],
    });
  const measured: (Limits & { run: () => Promise<unknown> })[] = [
    { what: 'the newest 50 rows by SQL', run: newest },
    ...questions.map((each) => ({ ...each, run: asking(each.path) })),
  ];
  const runs = measured.map(({ run }) => run);
  const latencies = await inTurns(runs, Math.min(30, Math.ceil(events / 10_000)));
  close();
  for (const [at, { what, p50Max, p99Max }] of measured.entries()) {
    const sorted = latencies[at] ?? new Float64Array();
    report.atMost(`${what}, p50`, percentile(sorted, 0.5), p50Max);
    report.atMost(`${what}, p99`, percentile(sorted, 0.99), p99Max);
  }
  report.memory('peak under reading load', service.memory().peak);
}

const timesInTurn = 10;

/**
 * Sorted milliseconds of each. All take turns, ten times each in a turn, so that a busy moment of
 * the machine is in a few requests of each, and not in many of one. The first turn is not counted.
 */
async function inTurns(
  runs: readonly (() => Promise<unknown>)[],
  turns: number,
): Promise<Float64Array[]> {
  const latencies = runs.map((): number[] => []);
  for (let turn = 0; turn <= turns; turn++) {
    for (const [at, run] of runs.entries()) {
      for (let n = 0; n < timesInTurn; n++) {
        const started = performance.now();
        await run();
        if (turn > 0) latencies[at]?.push(performance.now() - started);
      }
    }
  }
  return latencies.map((each) => Float64Array.from(each).sort());
}

interface Limits {
  what: string;
  p50Max?: number;
  p99Max?: number;
}

interface Question extends Limits {
  path: string;
}

/**
 * The questions: of every list the first page and the one behind so many events, and statistics.
 */
async function questionsOf(get: Get, depth: number): Promise<Question[]> {
  const quick = { p50Max: 10, p99Max: 50 };
  const sample = (await get(`/api/audit-logs?limit=1&page=${depth}`)).data[0];
  if (!sample) throw new Error('nothing was seeded');
  const questions: Question[] = [];
  for (const [name, filter] of Object.entries(filtersOf(sample))) {
    const path = `/api/audit-logs?limit=50&${filter}`;
    questions.push({ what: `list, ${name}, first page`, path, ...quick });
    const page = Math.floor(depth / 50);
    const { pagination } = await get(`${path}&page=${page}`);
    if (pagination.nextCursor === null) continue;
    const [byCursor, byNumber] = [
      `${path}&cursor=${pagination.nextCursor}`,
      `${path}&page=${page}`,
    ];
    questions.push({ what: `list, ${name}, page ${page} by cursor`, path: byCursor, ...quick });
    questions.push({ what: `list, ${name}, page ${page} by number`, path: byNumber });
  }
  for (const keys of ['day', 'user', 'day,user', 'action,resource']) {
    const query = `group_by=${keys}`;
    const path = `/api/audit-logs/stats?${query}`;
    questions.push({ what: `stats, ${query}, last 30 days`, path, p50Max: 150 });
  }
  return questions;
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
    correlation_id: 'correlation_id=nothing',
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

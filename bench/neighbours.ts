import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { performance } from 'node:perf_hooks';
import type { BenchService } from './bench-service.ts';
import { type LoadResult, load, percentile, requestOf } from './load.ts';
import type { Report, Size } from './report.ts';
import { seedEvents } from './seed.ts';

/*
 * What a tenant notices of another one that asks as much as it can; what half-sent requests take.
 */

const questions = 40;

export async function benchNeighbours(
  service: BenchService,
  report: Report,
  { count: events, seconds, rounds }: Size,
): Promise<void> {
  const scopes = ['events:read', 'events:write'];
  const [crowd, quiet] = [await service.tenant(...scopes), await service.tenant(...scopes)];
  await seedEvents(service, crowd.id, events);
  await seedEvents(service, quiet.id, Math.min(events, 20_000));
  await listWhileAsked(service, report, crowd.key, quiet.key, { seconds, rounds });
  await holdConnections(service, report, crowd.key, Math.min(2_000, events / 25), seconds);
  await listInPartitions(service, report, quiet.key, Math.min(1_000, events / 5), seconds);
}

function listAs({ url }: BenchService, key: string, seconds: number): Promise<LoadResult> {
  const requests = [requestOf('GET', '/api/audit-logs?limit=50', key)];
  return load({ url, connections: 1, seconds, requests });
}

/** The list of one tenant, alone and while another asks for statistics over seven years. */
async function listWhileAsked(
  service: BenchService,
  report: Report,
  crowd: string,
  quiet: string,
  { seconds, rounds }: Pick<Size, 'seconds' | 'rounds'>,
): Promise<void> {
  let refused = 0;
  let notReady = 0;
  const asked = new Map<number, number>();
  const list = async () => {
    const { latencies, failures } = await listAs(service, quiet, seconds);
    refused += failures;
    return percentile(latencies, 0.99);
  };
  const ask = async (n: number, end: number) => {
    const path = `/api/audit-logs/stats?group_by=user,action&from=2019-01-0${1 + (n % 9)}`;
    while (performance.now() < end) {
      const headers = { authorization: `Bearer ${crowd}` };
      const { status } = await fetch(service.url + path, { headers });
      asked.set(status, (asked.get(status) ?? 0) + 1);
    }
  };
  const watch = async (end: number) => {
    for (; performance.now() < end; await new Promise((done) => setTimeout(done, 200))) {
      if ((await fetch(`${service.url}/readyz`)).status !== 200) notReady += 1;
    }
  };
  const whileAsked = async () => {
    const end = performance.now() + seconds * 1_000;
    const asking = Array.from({ length: questions }, (_, n) => ask(n, end));
    const [p99] = await Promise.all([list(), watch(end), ...asking]);
    return p99;
  };
  await list();
  await report.compare(
    {
      what: `list of a tenant while another asks ${questions} statistics over 7 years at the same time, p99`,
      unit: 'ms',
      measure: whileAsked,
      ratio: { most: 3 },
      limit: { what: 'the list alone, p99', measure: list },
    },
    rounds,
  );
  const statuses = [...asked].sort().map(([status, count]) => `${count} × ${status}`);
  const figure = `${refused} refused, not ready ${notReady} ×; the other: ${statuses.join(', ')}`;
  const isMet = refused === 0 && notReady === 0;
  report.add('lists refused meanwhile', figure, '0, ready', isMet);
}

/** A list with the partitions of seven years, and with those of a thousand days besides. */
async function listInPartitions(
  service: BenchService,
  report: Report,
  key: string,
  partitions: number,
  seconds: number,
): Promise<void> {
  const p99 = async () => percentile((await listAs(service, key, seconds)).latencies, 0.99);
  const count = async () => {
    const text = `SELECT count(*)::int AS n FROM pg_inherits WHERE inhparent = 'audit_events'::regclass`;
    return (await service.owner.query<{ n: number }>(text)).rows[0]?.n;
  };
  const [few, fewP99] = [await count(), await p99()];
  for (let days = 1; days < partitions; days += 100) {
    await service.owner.query(
      `SELECT place_partition(0::smallint, now() - make_interval(days => d))
       FROM generate_series($1::int, $1 + 99) d`,
      [days],
    );
  }
  await listAs(service, key, seconds); // plans are made anew
  const manyP99 = await p99();
  report.add(
    `list in ${await count()} partitions`,
    `p99 ${manyP99.toFixed(1)} ms; in ${few}: ${fewP99.toFixed(1)} ms`,
    'p99 ≤ 3 × as much',
    manyP99 <= 3 * fewP99,
  );
}

const batchBytes = 8 * 2 ** 20;

/** Requests without an end, and a batch for twenty of them that stops before its own. */
async function holdConnections(
  service: BenchService,
  report: Report,
  key: string,
  count: number,
  seconds: number,
): Promise<void> {
  const before = service.memory().now;
  const started = performance.now();
  const half = 'GET /api/audit-logs HTTP/1.1\r\nhost: bench\r\nauthorization: Bea';
  const batch =
    `POST /api/audit-logs/batch HTTP/1.1\r\nhost: bench\r\nauthorization: Bearer ${key}\r\n` +
    `content-type: application/json\r\ncontent-length: ${batchBytes}\r\n\r\n{"events":["`;
  const part = Buffer.alloc(batchBytes - 1_000, 'x');
  const closed: Promise<unknown>[] = [];
  const hold = async (head: string, body?: Buffer) => {
    const socket = await dial(service.url);
    closed.push(once(socket, 'close'));
    // The service closes it before, if it is given the time.
    socket.setTimeout(4_000 * seconds, () => socket.destroy());
    socket.write(head);
    if (body) socket.write(body);
  };
  for (let n = 0; n < count; n++) await hold(half);
  for (let n = 0; n < count / 20; n++) await hold(batch, part);
  let most = 0;
  const look = setInterval(() => {
    most = Math.max(most, service.memory().now);
  }, 100);
  await Promise.all(closed);
  clearInterval(look);
  const took = (performance.now() - started) / 1_000;
  const mib = (most - before) / 2 ** 20;
  report.add(
    `${count} half-sent requests and ${count / 20} unfinished batches of 8 MiB`,
    `closed after ${took.toFixed(0)} s, ${mib.toFixed(0)} MiB more memory`,
    '≤ 60 s, ≤ 100 MiB',
    took <= 60 && mib <= 100,
  );
}

async function dial(url: string): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port) });
  socket.on('error', () => {}); // the service closes it while we send
  socket.resume();
  await once(socket, 'connect');
  return socket;
}

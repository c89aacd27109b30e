import { createHash, randomUUID } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { eventIdFromUuid, firstUuidAt } from '@indelible/protocol';
import { growLog } from '@indelible/testing/grow-log';
import { planAppend } from '../packages/server/src/log/sequencer.ts';
import { appendLogs, lockHeads } from '../packages/server/src/log/store.ts';
import { type Database, openDatabase, write } from '../packages/server/src/postgres/db.ts';
import type { BenchService } from './bench-service.ts';
import { latenciesOf } from './load.ts';
import { median, type Report, type Size } from './report.ts';
import { seedEvents } from './seed.ts';

/** Proofs out of one large log, and what a round of checkpoints costs for many tenants. */
export async function benchProof(
  service: BenchService,
  report: Report,
  { count: events, rounds }: Size,
): Promise<void> {
  const db = openDatabase(service.servingUrl, { poolSize: 2, onIdleError: () => {} });
  try {
    await benchProofs(service, db, report, events, rounds);
    await benchRounds(service, db, report, Math.min(1_000, events / 100), rounds);
  } finally {
    await db.close();
  }
}

async function benchProofs(
  service: BenchService,
  db: Database,
  report: Report,
  events: number,
  rounds: number,
): Promise<void> {
  const { id, get } = await newTenant(service);
  const started = performance.now();
  await growLog({ db }, id, events);
  await seedEvents(service, id, events);
  const seconds = Math.round((performance.now() - started) / 1_000);
  report.add(`${events} events of one tenant, with their log`, `made in ${seconds} s`);
  await get('/api/audit-logs/checkpoint');
  const { rows } = await service.owner.query<{ id: string }>(
    'SELECT id FROM audit_events WHERE tenant_id = $1 ORDER BY md5(id::text) LIMIT $2',
    [id, Math.min(1_000, Math.ceil(events / 100))],
  );
  const paths = rows.map(({ id: uuid }) => `/api/audit-logs/${eventIdFromUuid(uuid)}`);
  const asking = (of: readonly string[]) => () => latenciesOf(of.length, (n) => get(of[n] ?? ''));
  const limit = { what: 'the event alone', measure: asking(paths) };
  const inclusions = paths.map((path) => `${path}/proof`);
  const consistencies = paths.map((_path, n) => {
    const first = 1 + Math.floor((n / paths.length) * (events - 1));
    return `/api/audit-logs/consistency?first=${first}&second=${events}`;
  });
  await report.compareLatencies(
    {
      what: `inclusion proof of ${events} events`,
      measure: asking(inclusions),
      limit,
      p50Max: 5,
      p99Max: 25,
    },
    rounds,
  );
  await report.compareLatencies(
    { what: `consistency proof of ${events} events`, measure: asking(consistencies), limit },
    rounds,
  );
}

/** How long a caller waits for the first checkpoint of a log while so many others have grown. */
async function benchRounds(
  service: BenchService,
  db: Database,
  report: Report,
  dirtyTenants: number,
  rounds: number,
): Promise<void> {
  const ids = Array.from({ length: dirtyTenants }, () => randomUUID());
  await service.owner.query(
    'INSERT INTO log_heads (tenant_id, retention_class) SELECT unnest($1::uuid[]), 2',
    [ids],
  );
  await growAll(db, ids, 290); // more than a tile: as logs are that have been there for a while
  for (const dirty of [0, dirtyTenants]) {
    const times: number[] = [];
    for (let attempt = 0; attempt < rounds; attempt++) {
      const { get } = await newTenant(service);
      await get('/api/audit-logs/checkpoint'); // signs whatever has grown so far
      const other = await newTenant(service);
      await growAll(db, ids.slice(0, dirty), 10);
      await delay(1_100); // at most one round a second
      const started = performance.now();
      await other.get('/api/audit-logs/checkpoint');
      times.push(performance.now() - started);
    }
    const what = `a checkpoint on demand while ${dirty} logs have grown by 10 entries`;
    report.add(what, `p50 ${Math.round(median(times))} ms`);
  }
}

const sha = (data: Uint8Array) => createHash('sha256').update(data).digest();

/** In one transaction, so that no round sees a part of it. */
function growAll(db: Database, tenantIds: readonly string[], count: number): Promise<void> {
  return write(db, async (tx) => {
    const heads = await lockHeads(tx, tenantIds, true);
    const appends = heads.map((head) => {
      const events = Array.from({ length: count }, (_, n) => ({
        uuid: firstUuidAt(Date.now() + n),
        version: 1 as const,
        commitment: sha(Buffer.from(`${head.size + n}`)),
      }));
      return planAppend(sha, head, events, Date.now());
    });
    if (appends.length > 0) await appendLogs(tx, appends);
  });
}

type Get = (path: string) => Promise<unknown>;

async function newTenant(service: BenchService): Promise<{ id: string; get: Get }> {
  const { id, call } = await service.tenant('events:read');
  return { id, get: (path) => call('GET', path) };
}

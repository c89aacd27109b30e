import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { BenchService } from './bench-service.ts';
import { benchEvent } from './events.ts';
import { type LoadResult, load, percentile } from './load.ts';
import type { Report } from './report.ts';

const yearMs = 365 * 86_400_000;
const loadSeconds = 8;

/**
 * How often each is measured, alternating with what it is
 * held against: the machine is not always the same.
 */
const rounds = 3;

/**
 * A CSV of every event of a large log, beside `psql
 * \copy` of the same rows; then beside other work.
 */
export async function benchExport(
  service: BenchService,
  report: Report,
  rows: number,
): Promise<void> {
  const tenantId = randomUUID();
  const key = await makeTenant(service, tenantId);
  await recordMany(service, tenantId, rows);
  await service.owner.query('VACUUM (ANALYZE) audit_events');
  await delay(12_000); // the checkpoint of all this, and the collector, are not the export's
  await alone(service, report, key, tenantId, rows);
  await besideOthers(service, report, key, tenantId);
}

async function alone(
  service: BenchService,
  report: Report,
  key: string,
  tenantId: string,
  rows: number,
) {
  const idle = service.memory().now;
  report.memory('idle, before an export', idle);
  const copies: number[] = [];
  const exports: number[] = [];
  let peak = 0;
  for (let round = 0; round < rounds; round++) {
    copies.push(rows / (await copySeconds(service, tenantId)));
    const made = await exportSeconds(service, key);
    exports.push(rows / made.seconds);
    peak = Math.max(peak, made.peak);
  }
  const perSecond = (rates: number[]) =>
    `${rates.map((rate) => Math.round(rate)).join(', ')} rows/s`;
  report.add(`psql \\copy of ${rows} rows, 16 columns as they are`, perSecond(copies));
  report.add(`export of ${rows} rows as CSV, 17 columns`, perSecond(exports));
  report.ratio('export / psql \\copy, medians', median(exports) / median(copies), 0.5);
  const extra = peak - idle;
  report.add(
    'memory over idle during an export, peak',
    `${Math.round(extra / 2 ** 20)} MiB`,
    '≤ 64 MiB',
    extra <= 64 * 2 ** 20 ? 'yes' : 'no',
  );
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

async function besideOthers(service: BenchService, report: Report, key: string, tenantId: string) {
  const quiet: number[] = [];
  const busy: number[] = [];
  const rateOf = ({ requests, seconds }: LoadResult) => requests / seconds;
  for (let round = 0; round < rounds; round++) {
    quiet.push(rateOf(await postLoad(service, tenantId)));
    busy.push(rateOf(await whileExporting(service, key, () => postLoad(service, tenantId))));
  }
  const lists = await whileExporting(service, key, () => listLoad(service, key));
  const perSecond = (rates: number[]) => `${rates.map((rate) => Math.round(rate)).join(', ')} /s`;
  report.add('single POSTs, 16 connections', perSecond(quiet));
  report.add('single POSTs during an export', perSecond(busy));
  report.ratio('the second / the first, medians', median(busy) / median(quiet), 0.7);
  report.latency(
    'first page of a list during an export, 2 connections',
    percentile(lists.latencies, 0.5),
    percentile(lists.latencies, 0.99),
    50,
  );
}

/** The work, beside one export after the other; the last one is waited for too. */
async function whileExporting<T>(
  service: BenchService,
  key: string,
  work: () => Promise<T>,
): Promise<T> {
  let working = true;
  const exporting = (async () => {
    while (working) await exportSeconds(service, key);
  })();
  await delay(1_000);
  const result = await work().finally(() => {
    working = false;
  });
  await exporting;
  return result;
}

async function call(
  service: BenchService,
  method: string,
  path: string,
  key: string,
  body?: object,
) {
  const answer = await fetch(service.url + path, {
    method,
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      prefer: 'respond-async',
    },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
  return answer.json();
}

async function makeTenant(service: BenchService, tenantId: string): Promise<string> {
  const settings = { name: 'Large', plan: 'Enterprise' };
  await call(service, 'PUT', `/api/tenants/${tenantId}`, service.key, settings);
  const scopes = ['events:read', 'events:write', 'exports:write'];
  const made = (await call(service, 'POST', `/api/tenants/${tenantId}/api-keys`, service.key, {
    name: 'bench',
    scopes,
  })) as { key: string };
  return made.key;
}

/**
 * Through the service, because an export is bounded by the log; times spread over a year, in order.
 */
async function recordMany(service: BenchService, tenantId: string, rows: number): Promise<void> {
  const batch = 1_000;
  let sent = 0;
  const now = Date.now();
  const sendAll = async () => {
    while (sent < rows) {
      const count = Math.min(batch, rows - sent);
      const timestamp = new Date(now - yearMs + Math.floor((sent / rows) * yearMs)).toISOString();
      sent += count;
      const events = Array.from({ length: count }, () => ({
        ...benchEvent(tenantId),
        timestamp,
      }));
      await call(service, 'POST', '/api/audit-logs/batch', service.key, { events });
      process.stderr.write(`\rrecording: ${Math.round((100 * sent) / rows)} %`);
    }
  };
  await Promise.all([sendAll(), sendAll(), sendAll()]);
  process.stderr.write('\n');
}

async function copySeconds(service: BenchService, tenantId: string): Promise<number> {
  const file = join(tmpdir(), `indelible-bench-${randomUUID()}.csv`);
  const columns =
    'id, tenant_id, actor_id, actor_email, actor_role, actor_ip, actor_user_agent, action, ' +
    'resource_type, resource_id, resource_name, diff, cross_tenant, reason, category, sequence';
  const query = `SELECT ${columns} FROM indelible.audit_events WHERE tenant_id = '${tenantId}' ORDER BY id DESC`;
  const started = performance.now();
  try {
    const copy = `\\copy (${query}) TO '${file}' WITH (FORMAT csv, HEADER)`;
    await promisify(execFile)('psql', [service.ownerUrl, '-qc', copy]);
    return (performance.now() - started) / 1_000;
  } finally {
    await rm(file, { force: true });
  }
}

async function exportSeconds(service: BenchService, key: string) {
  const started = performance.now();
  const body = { filters: {}, format: 'csv' };
  let job = (await call(service, 'POST', '/api/audit-logs/exports', key, body)) as Job;
  let peak = 0;
  while (job.status === 'queued' || job.status === 'running') {
    await delay(100);
    peak = Math.max(peak, service.memory().now);
    job = (await call(service, 'GET', `/api/audit-logs/exports/${job.id}`, key)) as Job;
  }
  if (job.status !== 'ready') throw new Error(`the export is ${job.status}: ${job.error}`);
  return { seconds: (performance.now() - started) / 1_000, peak };
}

interface Job {
  id: string;
  status: string;
  error: string | null;
}

function postLoad(service: BenchService, tenantId: string) {
  const bodies = Array.from({ length: 500 }, () =>
    Buffer.from(JSON.stringify(benchEvent(tenantId))),
  );
  let index = 0;
  return load({
    url: service.url,
    connections: 16,
    seconds: loadSeconds,
    next: () => ({
      method: 'POST',
      path: '/api/audit-logs',
      headers: `authorization: Bearer ${service.key}\r\ncontent-type: application/json\r\n`,
      body: bodies[index++ % bodies.length] ?? null,
    }),
  });
}

function listLoad(service: BenchService, key: string) {
  return load({
    url: service.url,
    connections: 2,
    seconds: loadSeconds,
    next: () => ({
      method: 'GET',
      path: '/api/audit-logs?limit=50',
      headers: `authorization: Bearer ${key}\r\n`,
      body: null,
    }),
  });
}

import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import type { BenchService, BenchTenant } from './bench-service.ts';
import { copySeconds } from './copy.ts';
import { benchEvent } from './events.ts';
import { load, percentile, requestOf } from './load.ts';
import { singles } from './record.ts';
import type { Report, Size } from './report.ts';

const yearMs = 365 * 86_400_000;

/**
 * A CSV of every event of a large log, beside PostgreSQL's
 * COPY of the same rows; then beside other work.
 */
export async function benchExport(
  service: BenchService,
  report: Report,
  { count: rows, seconds, rounds }: Size,
): Promise<void> {
  const tenant = await service.tenant('events:read', 'events:write', 'exports:write');
  await recordMany(service, tenant.id, rows);
  await service.owner.query('VACUUM (ANALYZE) audit_events');
  // The checkpoint of all this, and the collector, are not the export's.
  await delay(1_500 * seconds);
  await alone(service, report, tenant, rows, rounds);
  await besideOthers(service, report, tenant, seconds, rounds);
}

async function alone(
  service: BenchService,
  report: Report,
  tenant: BenchTenant,
  rows: number,
  rounds: number,
) {
  const idle = service.memory().now;
  report.memory('idle, before an export', idle);
  let peak = 0;
  const exporting = async () => {
    const made = await exportSeconds(service, tenant);
    peak = Math.max(peak, made.peak);
    return rows / made.seconds;
  };
  const copying = async () =>
    rows / (await copySeconds(service, `tenant_id = '${tenant.id}' ORDER BY id DESC`));
  await report.compare(
    {
      what: `export of ${rows} rows as CSV, 24 columns`,
      unit: 'rows/s',
      measure: exporting,
      target: { least: 33_334 }, // a million in 30 s
      limit: { what: 'COPY of 16 columns as they are', measure: copying },
    },
    rounds,
  );
  const extra = Math.round((peak - idle) / 2 ** 20);
  report.add('memory over idle during an export, peak', `${extra} MiB`, '≤ 64 MiB', extra <= 64, [
    extra,
  ]);
}

async function besideOthers(
  service: BenchService,
  report: Report,
  tenant: BenchTenant,
  seconds: number,
  rounds: number,
) {
  const posting = async () => {
    const { requests, seconds: took } = await postLoad(service, tenant.id, seconds);
    return requests / took;
  };
  await report.compare(
    {
      what: 'single POSTs during an export',
      unit: '/s',
      measure: () => whileExporting(service, tenant, posting),
      limit: { what: 'single POSTs, 16 connections', measure: posting },
    },
    rounds,
  );
  const listing = () => listLoad(service, tenant.key, seconds);
  const { latencies } = await whileExporting(service, tenant, listing);
  report.latency(
    'first page of a list during an export, 2 connections',
    percentile(latencies, 0.5),
    percentile(latencies, 0.99),
    50,
  );
}

/** The work, beside one export after the other; the last one is waited for too. */
async function whileExporting<T>(
  service: BenchService,
  tenant: BenchTenant,
  work: () => Promise<T>,
): Promise<T> {
  let working = true;
  const exporting = (async () => {
    while (working) await exportSeconds(service, tenant);
  })();
  const result = await work().finally(() => {
    working = false;
  });
  await exporting;
  return result;
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
      await service.call('POST', '/api/audit-logs/batch', { events });
      process.stderr.write(`\rrecording: ${Math.round((100 * sent) / rows)} %`);
    }
  };
  await Promise.all([sendAll(), sendAll(), sendAll()]);
  process.stderr.write('\n');
}

async function exportSeconds(service: BenchService, { call }: BenchTenant) {
  const started = performance.now();
  const body = { filters: {}, format: 'csv' };
  const later = { prefer: 'respond-async' };
  let job = await call<Job>('POST', '/api/audit-logs/exports', body, later);
  let peak = 0;
  while (job.status === 'queued' || job.status === 'running') {
    await delay(100);
    peak = Math.max(peak, service.memory().now);
    job = await call<Job>('GET', `/api/audit-logs/exports/${job.id}`);
  }
  if (job.status !== 'ready') throw new Error(`the export is ${job.status}: ${job.error}`);
  return { seconds: (performance.now() - started) / 1_000, peak };
}

interface Job {
  id: string;
  status: string;
  error: string | null;
}

function postLoad({ url, key }: BenchService, tenantId: string, seconds: number) {
  return load({ url, connections: 16, seconds, requests: singles(key, [tenantId], 500) });
}

function listLoad({ url }: BenchService, key: string, seconds: number) {
  const requests = [requestOf('GET', '/api/audit-logs?limit=50', key)];
  return load({ url, connections: 2, seconds, requests });
}

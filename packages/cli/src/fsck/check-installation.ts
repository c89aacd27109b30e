import { createClient, IndelibleError } from '@indelible/client';
import type { Plans } from '@indelible/protocol';
import type { LogToCheck, OwnService } from '@indelible/server';
import type { Progress } from '../verify/log-source.ts';
import { verifyTenant } from '../verify/verify-tenant.ts';
import type { RunFile } from './fsck-report.ts';
import { addFindings, type FsckFinding, type FsckReport } from './fsck-report.ts';

const keptOfLog = 3;

/** Shows the entries of a log as they are read, and as read once the log is done. */
function entriesOf({ size }: LogToCheck, { advance, note }: Progress) {
  let [isEntries, left] = [false, size];
  const go = (count: number) => {
    left -= count;
    advance(count);
  };
  return {
    note,
    stage: (name: string) => {
      isEntries = name === 'entries';
    },
    advance: (count: number) => {
      if (isEntries) go(Math.min(count, left));
    },
    finish: () => go(left),
  };
}

interface CheckOptions {
  run: RunFile;
  plans: Plans | undefined;
  progress: Progress;
}

/**
 * Checks every log as `indelible verify` does, then its stored form, which readers do not see, then
 * all published rounds against the logs. Nothing is recorded or signed for it.
 */
export async function checkInstallation(
  service: OwnService,
  { run, plans, progress }: CheckOptions,
): Promise<FsckReport> {
  const startedAt = performance.now();
  const { report, after } = run;
  const logs = (await service.logs.all()).filter(
    ({ tenantId }) => after === null || tenantId > after,
  );
  progress.stage(
    'entries',
    logs.reduce((sum, { size }) => sum + size, 0),
  );
  for (const log of logs) {
    const shown = entriesOf(log, progress);
    await checkLog(service, log, report, { plans, progress: shown });
    shown.finish();
    run.save(log.tenantId);
  }
  for await (const part of service.logs.rounds()) {
    if (part.rounds === 0 && report.rounds.checked === 0) progress.stage('rounds', part.total);
    report.rounds.checked += part.rounds;
    report.rounds.checkpoints += part.checkpoints;
    const found = part.findings.map((finding) => ({ tenantId: null, ...finding }));
    addFindings(report, found, found.length);
    progress.advance(part.rounds);
  }
  report.seconds += (performance.now() - startedAt) / 1_000;
  return report;
}

async function checkLog(
  service: OwnService,
  { tenantId, size, isPublished, problem }: LogToCheck,
  report: FsckReport,
  options: ReadOptions,
): Promise<void> {
  const { logs } = report;
  const found: FsckFinding[] = [];
  const stored = problem ?? (await service.logs.damageOf(tenantId));
  if (stored !== null) found.push({ tenantId, code: 'wrongly_stored', message: stored });
  let count = found.length;
  // A log without one of its own would have one signed for the reader.
  if (isPublished && problem === null) {
    service.takeFinding(); // of the log before
    const { findings, result } = await verified(service, tenantId, options).catch((error) =>
      unreadable(error, service.takeFinding()),
    );
    count += findings.count;
    const kept = findings.kept.map(({ code, message }) => ({ tenantId, code, message }));
    found.push(...kept.slice(0, keptOfLog));
    if (result === 'unproven') logs.unproven += 1;
  } else if (!isPublished) logs.unpublished += 1;
  logs.checked += 1;
  logs.entries += size;
  if (count > 0) logs.damaged += 1;
  addFindings(report, found, count);
}

/** One log that cannot be read must not keep the others from being checked. */
function unreadable(error: unknown, finding: string | null) {
  if (!(error instanceof IndelibleError)) throw error;
  const { code, message: answer } = error;
  const message = finding ?? answer;
  return { result: 'damaged', findings: { count: 1, kept: [{ code, message }] } };
}

type ReadOptions = Pick<CheckOptions, 'plans' | 'progress'>;

async function verified(service: OwnService, tenantId: string, options: ReadOptions) {
  const key = await service.keyOf(tenantId);
  const { fetch } = service;
  const client = createClient({ url: 'http://localhost', key, tenantId, fetch, attempts: 1 });
  return verifyTenant(client, {
    ...options,
    tenantId,
    vkeys: [],
    plan: null,
    reopened: false,
    isPassive: true,
    // What was published before is held against the log with the rounds.
    seen: null,
  });
}

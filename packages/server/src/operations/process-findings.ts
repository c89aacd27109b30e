import { createClock } from '../postgres/clock.ts';
import { databaseTime, withDatabase } from '../postgres/db.ts';
import { messageOf } from '../postgres/embedded/error-code.ts';
import { type Finding, fail, ok, warn } from './finding.ts';
import {
  type JobWaits,
  jobWaits,
  type ServingProcess,
  servingProcesses,
} from './processes.store.ts';

const waitSecondsMax = 60;
const clockAheadMsMax = 1_000;

export interface Running {
  processes: readonly ServingProcess[];
  waits: JobWaits;
  /** The clock of this machine, which may not be a serving one. */
  clockAheadMs: number;
}

/** Settings that all processes on one database must share, and roles that one of them must have. */
export function processFindings({ processes, waits, clockAheadMs }: Running): Finding[] {
  const waitSeconds = Math.max(0, ...Object.values(waits));
  const problems = [
    ...secretFinding(processes),
    ...keyFinding(processes),
    ...workerFinding(processes, waitSeconds),
    ...clockFinding([clockAheadMs, ...processes.map((process) => process.clockAheadMs)]),
  ];
  if (problems.length > 0) return problems;
  const workers = processes.filter(({ isWorker }) => isWorker).length;
  const wait = `the oldest job has waited for ${Math.round(waitSeconds)} s`;
  const detail =
    processes.length === 0
      ? 'none serves now'
      : `${processes.length} serve with the same secrets, ${workers} of them as workers; ${wait}`;
  return [ok('processes', detail)];
}

const differ = (values: readonly Buffer[]) =>
  values.some((value) => !value.equals(values[0] ?? value));

function secretFinding(processes: readonly ServingProcess[]): Finding[] {
  if (!differ(processes.map(({ sessionSecret }) => sessionSecret))) return [];
  const detail =
    'processes on this database have different session secrets, so they refuse the cursors and ' +
    'download links of each other and cannot open the sealed secrets. Set the same SESSION_SECRET ' +
    'in all of them';
  return [fail('session secret', detail)];
}

function keyFinding(processes: readonly ServingProcess[]): Finding[] {
  if (!differ(processes.map(({ signingKey }) => signingKey))) return [];
  const detail =
    'processes on this database have different signing keys, and only one of the keys may sign. ' +
    'Set SIGNING_KEY_FILE to the key in use in all of them, and restart the others';
  return [fail('signing keys', detail)];
}

function workerFinding(processes: readonly ServingProcess[], waitSeconds: number): Finding[] {
  const isLate = waitSeconds > waitSecondsMax;
  if (processes.some(({ isWorker }) => isWorker)) return [];
  if (processes.length === 0 && !isLate) return [];
  const detail =
    'no process works in the background, so exports, restores, mail and webhooks wait. Start one ' +
    'with `indelible serve --role worker`';
  return [{ check: 'background work', level: isLate ? 'fail' : 'warn', detail }];
}

function clockFinding(aheadMs: readonly number[]): Finding[] {
  const worst = aheadMs.reduce((a, b) => (Math.abs(b) > Math.abs(a) ? b : a), 0);
  if (Math.abs(worst) <= clockAheadMsMax) return [];
  const seconds = Math.round(Math.abs(worst) / 1_000);
  const detail =
    `the clock of a machine is ${seconds} s ${worst > 0 ? 'ahead of' : 'behind'} PostgreSQL's, by ` +
    'which the service goes. Set both clocks by NTP';
  return [warn('clock', detail)];
}

/**
 * Checks whether the processes on this database are consistent, and this machine's clock. The
 * schema must be up to date. Findings are returned, not thrown.
 */
export async function diagnoseProcesses(servingUrl: string): Promise<Finding[]> {
  return withDatabase(servingUrl, async ({ writer }) => {
    const clock = createClock();
    await clock.compare(() => databaseTime(writer));
    return processFindings({
      processes: await servingProcesses(writer),
      waits: await jobWaits(writer, clock.now()),
      clockAheadMs: clock.aheadMs(),
    });
  }).catch((error) => [fail('processes', `cannot be read: ${messageOf(error)}`)]);
}

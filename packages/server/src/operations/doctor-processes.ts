import { createClock, databaseTime, openDatabase } from '../postgres/index.ts';
import type { Finding } from './finding.ts';
import { processFindings } from './process-findings.ts';
import { jobWaits, servingProcesses } from './processes.store.ts';

/**
 * Checks whether the processes on this database are consistent, and this machine's clock. The
 * schema must be up to date. Findings are returned, not thrown.
 */
export async function diagnoseProcesses(servingUrl: string): Promise<Finding[]> {
  const db = openDatabase(servingUrl, { poolSize: 1, onIdleError: () => {} });
  const clock = createClock();
  try {
    await clock.compare(() => databaseTime(db.writer));
    return processFindings({
      processes: await servingProcesses(db.writer),
      waits: await jobWaits(db.writer, clock.now()),
      clockAheadMs: clock.aheadMs(),
    });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return [{ check: 'processes', level: 'fail', detail: `cannot be read: ${reason}` }];
  } finally {
    await db.close();
  }
}

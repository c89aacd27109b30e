import { hkdfSync, randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import type { Signer } from '../crypto/signer.ts';
import type { Clock } from '../postgres/clock.ts';
import { type Database, databaseTime, writeInBackground } from '../postgres/db.ts';
import { processFindings } from './process-findings.ts';
import {
  type JobWaits,
  jobWaits,
  keepProcess,
  removeProcess,
  servingProcesses,
} from './processes.store.ts';

interface PresenceDeps {
  db: Database;
  clock: Clock;
  sessionSecret: string;
  signer: Pick<Signer, 'publicKey'>;
  logger: Pick<Logger, 'warn' | 'error'>;
  observer: (seen: Seen) => void;
}

export interface Seen {
  waits: JobWaits;
  /** The number of problems of all processes together. */
  failures: number;
  clockAheadMs: number;
}

/** This process among those on the same database. */
export type Presence = ReturnType<typeof createPresence>;

export function createPresence(deps: PresenceDeps) {
  const { db, clock, logger, observer } = deps;
  const id = randomUUID();
  const derived = hkdfSync('sha256', deps.sessionSecret, '', 'indelible/same-secret/v1', 16);
  const sessionSecret = Buffer.from(derived);
  let told = new Set<string>();
  return {
    /** Compares the clock, renews this process's row, and logs each problem once. */
    async renew(isWorker: boolean) {
      await clock.compare(() => databaseTime(db.background));
      const signingKey = Buffer.from(await deps.signer.publicKey());
      const clockAheadMs = clock.aheadMs();
      const { processes, waits } = await writeInBackground(db, async (tx) => {
        await keepProcess(tx, id, { isWorker, sessionSecret, signingKey, clockAheadMs });
        const waits = await jobWaits(tx, clock.now());
        return { processes: await servingProcesses(tx), waits };
      });
      const problems = processFindings({ processes, waits, clockAheadMs }).filter(
        ({ level }) => level !== 'ok',
      );
      const failures = problems.filter(({ level }) => level === 'fail').length;
      observer({ waits, failures, clockAheadMs });
      for (const { check, level, detail } of problems) {
        if (!told.has(check + level)) logger[level === 'fail' ? 'error' : 'warn'](detail);
      }
      told = new Set(problems.map(({ check, level }) => check + level));
    },
    end: () => removeProcess(db.background, id),
  };
}

import { eventIdFromUuid } from '@indelible/protocol';
import type { Jobs } from '../background/index.ts';
import { lockHeads } from '../log/index.ts';
import type { RecordOwn } from '../own-event.ts';
import { type Database, writeInBackground } from '../postgres/index.ts';
import { toldEvent } from './alert-event.ts';
import { type RuleRow, rulesToChange, saveRule } from './store.ts';

export interface TellDeps {
  db: Database;
  now: () => number;
  recordOwn: RecordOwn;
  jobs: Jobs;
}

/** The work of a job `alert-mail`; `alerts` are the UUIDs of their events. */
export interface AlertMailJob {
  tenantId: string;
  ruleId: string;
  alerts: string[];
  atMs: number;
}

/**
 * Tells of the alerts of the rules whose message is due: the record of the message, which webhooks
 * are told by, and the mail's job are stored with the mark that they are told. True if any was.
 */
export async function tellDue(
  deps: TellDeps,
  tenantId: string,
  rules: readonly RuleRow[],
): Promise<boolean> {
  const { db, now, jobs, recordOwn } = deps;
  const isDue = ({ tellAtMs }: RuleRow) => tellAtMs !== null && tellAtMs <= now();
  if (!rules.some(isDue)) return false;
  await writeInBackground(db, async (tx) => {
    await lockHeads(tx, [tenantId], true);
    const due = (await rulesToChange(tx, tenantId)).filter(isDue);
    const marked = due.map(async (row) => {
      const data: AlertMailJob = { tenantId, ruleId: row.id, alerts: row.untold, atMs: now() };
      await saveRule(tx, { ...row, untold: [], tellAtMs: null, toldAtMs: now() });
      await jobs.send(tx, 'alert-mail', { tenantId, data });
    });
    await Promise.all(marked);
    const told = due.map((row) => toldEvent(row, row.untold.map(eventIdFromUuid)));
    await recordOwn(tx, tenantId, ...told);
  });
  jobs.wake();
  return true;
}

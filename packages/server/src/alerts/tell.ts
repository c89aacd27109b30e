import { eventIdFromUuid } from '@indelible/protocol';
import { lockHeads } from '../log/store.ts';
import type { Parts } from '../parts.ts';
import { tenantIn, writeInBackground } from '../postgres/db.ts';
import { toldEvent } from './alert-event.ts';
import { minuteMs } from './evaluate.ts';
import { listRules, type RuleRow, saveRule } from './store.ts';

export type TellDeps = Pick<Parts, 'db' | 'now' | 'recordOwn' | 'jobs'>;

/** The work of a job `alert-mail`; `alerts` are the UUIDs of their events. */
export interface AlertMailJob {
  tenantId: string;
  ruleId: string;
  alerts: string[];
  atMs: number;
}

/** At most one message about a rule in this time. */
export const tellEveryMs = 10 * minuteMs;

/** A time further ahead than any that is stored was written by a wrong clock: it is due too. */
export const isDue = (dueMs: number | null, nowMs: number, aheadMsMax: number) =>
  dueMs !== null && (dueMs <= nowMs || dueMs > nowMs + aheadMsMax);

/**
 * Tells of the alerts of the rules whose message is due. One transaction stores the record of the
 * message, which webhooks send, the job of the mail, and the mark that the alerts are told. True if
 * any was.
 */
export async function tellDue(
  deps: TellDeps,
  tenantId: string,
  rules: readonly RuleRow[],
): Promise<boolean> {
  const { db, now, jobs, recordOwn } = deps;
  const isToldNow = ({ tellAtMs }: RuleRow) => isDue(tellAtMs, now(), tellEveryMs);
  if (!rules.some(isToldNow)) return false;
  await writeInBackground(db, async (tx) => {
    await lockHeads(tx, [tenantId], true);
    const due = (await listRules(tenantIn(tx, tenantId))).filter(isToldNow);
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

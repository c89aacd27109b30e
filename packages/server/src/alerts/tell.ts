import { eventIdFromUuid, panelHome } from '@indelible/protocol';
import { lockHeads } from '../log/store.ts';
import { composeMail, mailTexts, mailTime } from '../outbound/mail-page.ts';
import { quoted } from '../outbound/plain-line.ts';
import type { Parts } from '../parts.ts';
import { tenantIn, writeInBackground } from '../postgres/db.ts';
import { handleTenantMail } from '../tenants/tenant-mail.ts';
import { toldEvent } from './alert-event.ts';
import { minuteMs } from './evaluate.ts';
import { settingsOf } from './rule.ts';
import { listRules, type RuleRow, saveRule } from './store.ts';

export type EvaluateParts = Pick<Parts, 'db' | 'now' | 'recordOwn' | 'jobs' | 'ended'>;

/** The work of a job `alert-mail`; `alerts` are the UUIDs of their events. */
interface AlertMailJob {
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
  parts: EvaluateParts,
  tenantId: string,
  rules: readonly RuleRow[],
): Promise<boolean> {
  const { db, now, jobs, recordOwn } = parts;
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

export function handleAlertMail(parts: Parts): void {
  handleTenantMail<AlertMailJob>(parts, 'alert-mail', async (tenant, { ruleId, ...told }, tx) => {
    const rule = (await listRules(tx)).find(({ id }) => id === ruleId);
    if (!rule) return null; // Removed meanwhile.
    const { name, notify } = settingsOf(rule);
    const { locale, timeZone } = tenant;
    const texts = mailTexts[locale].alert;
    const mail = composeMail({
      locale,
      subject: texts.subject,
      tenantName: tenant.name,
      leads: (about) => [texts.lead(about)],
      facts: [
        [texts.rule, quoted(name)],
        [texts.count, new Intl.NumberFormat(locale).format(told.alerts.length)],
        [texts.at, mailTime(told.atMs, locale, timeZone)],
      ],
      next: [texts.next],
      open: texts.open,
      url: `${parts.publicUrl()}${panelHome}?resource=alert&resource_id=${ruleId}`,
    });
    return { to: notify.emails ?? tenant.notifyEmails, ...mail };
  });
}

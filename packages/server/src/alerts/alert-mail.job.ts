import { panelHome } from '@indelible/protocol';
import { composeMail, mailTime } from '../outbound/mail-page.ts';
import { mailTexts } from '../outbound/mail-texts.ts';
import type { Parts } from '../parts.ts';
import { readTenant } from '../postgres/db.ts';
import { getTenant } from '../tenants/store.ts';
import { settingsOf } from './rule.ts';
import { listRules } from './store.ts';
import type { AlertMailJob } from './tell.ts';

export type AlertMailDeps = Pick<Parts, 'db' | 'jobs' | 'mailer' | 'publicUrl'>;

/** Mail about alerts, in separate jobs: an unavailable mail server delays no alert. */
export function handleAlertMail({ db, jobs, mailer, publicUrl }: AlertMailDeps): void {
  jobs.handle<AlertMailJob>('alert-mail', async ({ id: mailId, data }) => {
    const { tenantId, ruleId, alerts, atMs } = data;
    const { tenant, rule } = await readTenant(db, tenantId, async (tx) => ({
      tenant: await getTenant(tx),
      rule: (await listRules(tx)).find(({ id }) => id === ruleId),
    }));
    if (!tenant || !rule) return; // Removed meanwhile.
    const { name, notify } = settingsOf(rule);
    const to = notify.emails ?? tenant.notifyEmails;
    if (to.length === 0) return;
    const { locale, timeZone } = tenant;
    const texts = mailTexts[locale].alert;
    const mail = composeMail({
      ...{ locale, subject: texts.subject, tenantName: tenant.name },
      leads: (about) => [texts.lead(about)],
      facts: [
        [texts.rule, name],
        [texts.count, new Intl.NumberFormat(locale).format(alerts.length)],
        [texts.at, mailTime(atMs, locale, timeZone)],
      ],
      ...{ next: [texts.next], open: texts.open },
      url: `${publicUrl()}${panelHome}?resource=alert&resource_id=${ruleId}`,
    });
    await mailer.send({ id: mailId, to, ...mail });
  });
}

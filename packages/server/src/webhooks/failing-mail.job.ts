import { panelRoot, typeId } from '@indelible/protocol';
import { logSize } from '../log/store.ts';
import { composeMail, type Mail, mailTime } from '../outbound/mail-page.ts';
import { mailTexts } from '../outbound/mail-texts.ts';
import type { Parts } from '../parts.ts';
import { readTenant } from '../postgres/db.ts';
import { getTenant, type TenantRow } from '../tenants/store.ts';
import { type DeliveryRow, lastOfMessages } from './deliveries.store.ts';
import { getWebhook, type WebhookKey, type WebhookRow, webhookIdPrefix } from './store.ts';

export type FailingMailDeps = Pick<Parts, 'db' | 'jobs' | 'mailer' | 'publicUrl'>;

/** Mail about paused webhooks, in separate jobs: an unavailable mail server stops no delivery. */
export function handleFailingMail({ db, jobs, mailer, publicUrl }: FailingMailDeps): void {
  jobs.handle<WebhookKey>('webhook-mail', async ({ id: mailId, data: { tenantId, id } }) => {
    const { webhook, tenant, last, size } = await readTenant(db, tenantId, async (tx) => ({
      webhook: await getWebhook(tx, id),
      tenant: await getTenant(tx),
      last: await lastOfMessages(tx, id),
      size: await logSize(tx),
    }));
    // Meanwhile resumed, removed, or without recipients.
    if (webhook?.pausedBecause !== 'failing' || !tenant || tenant.notifyEmails.length === 0) return;
    const mail = failingMail(tenant, webhook, last, size, `${publicUrl()}${panelRoot}`);
    await mailer.send({ id: mailId, to: tenant.notifyEmails, ...mail });
  });
}

/**
 * Mail about a webhook that the service paused after failed deliveries, the last one given; `size`
 * is that of the log, `root` the address of the panel's pages.
 */
export function failingMail(
  tenant: Pick<TenantRow, 'locale' | 'timeZone' | 'name'>,
  webhook: Pick<WebhookRow, 'id' | 'name' | 'url' | 'attempt' | 'updatedAtMs' | 'nextSequence'>,
  last: Pick<DeliveryRow, 'responseStatus' | 'reason'> | null,
  size: number,
  root: string,
): Mail {
  const { locale, timeZone } = tenant;
  const texts = mailTexts[locale].webhookPaused;
  const behind = Math.max(0, size - webhook.nextSequence);
  return composeMail({
    ...{ locale, subject: texts.subject, tenantName: tenant.name },
    leads: (about) => [last?.responseStatus === 410 ? texts.gone(about) : texts.lead(about)],
    facts: [
      [texts.name, webhook.name],
      // Without path and query, which may contain secrets of the receiver.
      [texts.receiver, new URL(webhook.url).host],
      [texts.reason, last?.reason ?? null],
      [texts.attempts, new Intl.NumberFormat(locale).format(webhook.attempt)],
      [texts.at, mailTime(webhook.updatedAtMs, locale, timeZone)],
      [texts.behind, texts.entries({ count: behind })],
    ],
    ...{ next: [texts.next], open: texts.open },
    url: `${root}/webhooks/${typeId(webhookIdPrefix, webhook.id)}`,
  });
}

import { type Locale, panelRoot, typeId } from '@indelible/protocol';
import { failureText } from '../../../../locales/failure-text.ts';
import { logSize } from '../log/store.ts';
import { composeMail, type Mail, mailTexts, mailTime } from '../outbound/mail-page.ts';
import { quoted } from '../outbound/plain-line.ts';
import type { Parts } from '../parts.ts';
import type { TenantRow } from '../tenants/store.ts';
import { handleTenantMail } from '../tenants/tenant-mail.ts';
import { type DeliveryRow, lastOfMessages } from './deliveries.store.ts';
import { getWebhook, type WebhookKey, type WebhookRow, webhookIdPrefix } from './store.ts';

export function handleFailingMail(parts: Parts): void {
  const root = () => `${parts.publicUrl()}${panelRoot}`;
  handleTenantMail<WebhookKey>(parts, 'webhook-mail', async (tenant, { id }, tx) => {
    const webhook = await getWebhook(tx, id);
    if (webhook?.pausedBecause !== 'failing') return null; // Meanwhile resumed or removed.
    const [last, size] = [await lastOfMessages(tx, id), await logSize(tx)];
    return { to: tenant.notifyEmails, ...failingMail(tenant, webhook, last, size, root()) };
  });
}

/**
 * Mail about a webhook that the service paused after failed deliveries, the last one given; `size`
 * is that of the log, `root` the address of the panel's pages.
 */
export function failingMail(
  tenant: Pick<TenantRow, 'locale' | 'timeZone' | 'name'>,
  webhook: Pick<WebhookRow, 'id' | 'name' | 'url' | 'attempt' | 'updatedAtMs' | 'nextSequence'>,
  last: Last | null,
  size: number,
  root: string,
): Mail {
  const { locale, timeZone } = tenant;
  const texts = mailTexts[locale].webhookPaused;
  const behind = Math.max(0, size - webhook.nextSequence);
  return composeMail({
    locale,
    subject: texts.subject,
    tenantName: tenant.name,
    leads: (about) => [last?.responseStatus === 410 ? texts.gone(about) : texts.lead(about)],
    facts: [
      [texts.name, webhook.name && quoted(webhook.name)],
      // Without path and query, which may contain secrets of the receiver.
      [texts.receiver, new URL(webhook.url).host],
      [texts.reason, last && reasonIn(locale, last)],
      [texts.attempts, new Intl.NumberFormat(locale).format(webhook.attempt)],
      [texts.at, mailTime(webhook.updatedAtMs, locale, timeZone)],
      [texts.behind, texts.entries({ count: behind })],
    ],
    next: [texts.next],
    open: texts.open,
    url: `${root}/webhooks/${typeId(webhookIdPrefix, webhook.id)}`,
  });
}

type Last = Pick<DeliveryRow, 'responseStatus' | 'reason'>;

function reasonIn(locale: Locale, { responseStatus, reason }: Last): string | null {
  if (reason === null) return null;
  const { text, words } = failureText(mailTexts[locale].failures, responseStatus, reason);
  return words === null ? text : `${text}: ${quoted(words)}`;
}

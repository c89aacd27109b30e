import { panelRoot, typeId } from '@indelible/protocol';
import { logSize } from '../log/index.ts';
import type { Parts } from '../parts.ts';
import { readTenant } from '../postgres/index.ts';
import { getTenant } from '../tenants/index.ts';
import { lastOfMessages } from './deliveries.store.ts';
import { failingMail } from './failing-mail.ts';
import { webhookIdPrefix } from './message-body.ts';
import { getWebhook, type WebhookKey } from './store.ts';

export type FailingMailDeps = Pick<Parts, 'db' | 'jobs' | 'mailer' | 'publicUrl'>;

/** Mail about paused webhooks, in separate jobs: an unavailable mail server stops no delivery. */
export function handleFailingMail(deps: FailingMailDeps): void {
  deps.jobs.handle<WebhookKey>('webhook-mail', ({ id, data }) => mail(deps, id, data));
}

async function mail(
  { db, mailer, publicUrl }: FailingMailDeps,
  mailId: string,
  { tenantId, id }: WebhookKey,
) {
  const { webhook, tenant, last, size } = await readTenant(db, tenantId, async (tx) => ({
    webhook: await getWebhook(tx, id),
    tenant: await getTenant(tx),
    last: await lastOfMessages(tx, id),
    size: await logSize(tx),
  }));
  // Meanwhile resumed, removed, or without recipients.
  if (webhook?.pausedBecause !== 'failing' || !tenant || tenant.notifyEmails.length === 0) return;
  const message = failingMail({
    ...{ locale: tenant.locale, timeZone: tenant.timeZone, tenantName: tenant.name },
    ...{ name: webhook.name, host: new URL(webhook.url).host },
    ...{ isGone: last?.responseStatus === 410, reason: last?.reason ?? null },
    ...{ attempts: webhook.attempt, pausedAtMs: webhook.updatedAtMs },
    behind: Math.max(0, size - webhook.nextSequence),
    url: `${publicUrl()}${panelRoot}/webhooks/${typeId(webhookIdPrefix, id)}`,
  });
  await mailer.send({ id: mailId, to: tenant.notifyEmails, ...message });
}

import { setTimeout } from 'node:timers/promises';
import { createClient, type EventInput, type IndelibleClient } from '@indelible/client';
import { createOutbox, fromPg } from '@indelible/client/outbox';
import type pg from 'pg';
import { type Tx, transaction } from './database.ts';
import { tenants } from './people.ts';
import {
  type CallSecrets,
  findRecordingKey,
  findSecrets,
  keepRecordingKey,
  keepSecrets,
  type RecordingKey,
} from './store.ts';

/* Everything between the product and its audit log service. */

/** Numbers its events: the service notices those that did not arrive. */
export const outbox = createOutbox({ source: 'contact-center' });
const outboxOnPg = outbox.with(fromPg);

/** Writes the event beside the change it tells of: both are committed, or neither. */
export function inTransaction(tx: Tx, event: EventInput): Promise<string> {
  return outboxOnPg.inTransaction(tx, event);
}

/** Events that belong to no other change, such as a sign-in, get a transaction of their own. */
export function sinkOf(pool: pg.Pool) {
  return { record: (event: EventInput) => transaction(pool, (tx) => inTransaction(tx, event)) };
}

export type AuditConnection = Awaited<ReturnType<typeof connectAudit>>;

interface AuditService {
  url: string;
  /** All scopes: used when the product is set up, never while it serves. */
  platformKey: string;
  /** Where the service reaches this product. */
  ownUrl: string;
}

/** Connects the product; what the first start set up at the service is found again later. */
export async function connectAudit(pool: pg.Pool, auditService: AuditService) {
  const { url, platformKey } = auditService;
  const { keyId, key } = await recordingKey(pool, createClient({ url, key: platformKey }));
  for (const { id, name } of tenants) await connectTenant(pool, auditService, id, name);
  const client = createClient({ url, key });
  const relay = outbox.relay({ pool, client });
  relay.start();
  return {
    /** Whose events may be restored: those that this product recorded. */
    keyId,
    /** With a key that may record, and make viewer links that may do what people may. */
    client,
    /** Resolves once what was committed until now is in the log, or after two seconds. */
    delivered: () => Promise.race([relay.drain(), setTimeout(2_000, undefined, { ref: false })]),
    stop: () => relay.stop(),
  };
}

async function recordingKey(pool: pg.Pool, setup: IndelibleClient): Promise<RecordingKey> {
  const known = await findRecordingKey(pool);
  if (known) return known;
  // A link hands on no scope that the key lacks.
  const ofPeople = [
    'events:read',
    'exports:write',
    'restore:write',
    'webhooks:write',
    'alerts:write',
  ] as const;
  const scopes = ['events:write', 'viewer-links:write', ...ofPeople] as const;
  const { id: keyId, key } = await setup.apiKeys.create(null, { name: 'contact centre', scopes });
  const made = { keyId, key };
  await keepRecordingKey(pool, made);
  return made;
}

/**
 * The tenant at the service, with the addresses that restores and new events are sent to. Secrets
 * are handed out once: a start that ended before it kept them asks for new ones.
 */
async function connectTenant(
  pool: pg.Pool,
  { url, platformKey, ownUrl }: AuditService,
  tenantId: string,
  name: string,
): Promise<void> {
  const known = await findSecrets(pool, tenantId);
  if (known?.ownUrl === ownUrl) return;
  // An operator declares why they read or change a tenant; the tenant sees it.
  const reason = 'The contact centre connects itself';
  const setup = createClient({ url, key: platformKey, tenantId, reason });
  const restoreUrl = `${ownUrl}/hooks/restore/${tenantId}`;
  // Only another address than before comes with a secret.
  await setup.tenants.put(tenantId, { name, plan: 'Pro', restoreUrl: null });
  const { restoreSecret = '' } = await setup.tenants.put(tenantId, { restoreUrl });
  const webhook = await connectWebhook(setup, `${ownUrl}/hooks/events/${tenantId}`, known);
  await keepSecrets(pool, tenantId, { ownUrl, restore: restoreSecret, webhook });
}

const webhookName = 'Activity';

/** The one that is there goes on where it is; returns what its messages are signed with. */
async function connectWebhook(
  { webhooks }: IndelibleClient,
  url: string,
  known: CallSecrets | null,
): Promise<string> {
  for await (const { id, name } of webhooks.list()) {
    if (name !== webhookName) continue;
    const secret = known?.webhook ?? (await webhooks.rotateSecret(id)).secret;
    await webhooks.update(id, { url });
    await webhooks.resume(id);
    return secret;
  }
  return (await webhooks.create({ name: webhookName, url })).secret ?? '';
}

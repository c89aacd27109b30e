// Compiled as in a host product, against the published declarations.
import {
  createClient,
  defineCatalogue,
  type EventVerdict,
  IndelibleError,
  verifyEvent,
} from '@indelible/client';
import { createOutbox } from '@indelible/client/outbox';
import { createRecorder } from '@indelible/client/recorder';
import { captureAudit } from '@indelible/client/testing';
import { verifyWebhook } from '@indelible/client/webhooks';

const catalogue = defineCatalogue({ actions: ['refund'], resourceTypes: ['invoice'] });
const client = createClient({ url: 'https://audit.example.com', key: 'idl_x', catalogue });

/** A typical state of a product: an interface without an index signature. */
interface Invoice {
  status: 'paid' | 'refunded';
  total: number;
}

export async function use(body: string, headers: Headers): Promise<EventVerdict | string> {
  const actor = { id: '7f9c2ba4-e88f-4a1b-9c3d-1f2e3d4c5b6a', role: 'admin' };
  const resource = { type: 'invoice', id: '0b54a1de-6e0f-4c66-a24c-2c4f6f2c7a11' } as const;
  const before: Invoice = { status: 'paid', total: 17 };
  const after: Invoice = { ...before, status: 'refunded' };
  const { id } = await client.record({ actor, action: 'refund', resource, before, after });
  const { outcome = 'success' } = await client.record({
    actor: { externalId: 'user_123', role: 'Org Owner', type: 'user' },
    action: 'refund',
    resource: { type: 'invoice', externalId: 'inv_17' },
    outcome: 'denied',
    metadata: { region: 'eu' },
    via: { channel: 'cli' },
  });
  if (outcome === 'denied') return outcome;
  const { message } = await verifyWebhook(body, headers, 'whsec_');
  if (message.type === 'audit.events.recorded') return message.data.events[0]?.id ?? '';
  return verifyEvent(client, id);
}

/** The words of the API are known to the compiler, and single values are filters. */
export async function administer(tenantId: string): Promise<string> {
  await client.tenants.put(tenantId, { name: 'Initech', plan: 'Pro', locale: 'de' });
  const { scopes } = await client.apiKeys.create(tenantId, { name: 'x', scopes: ['events:read'] });
  await client.exports.create({ format: 'csv', columns: ['id', 'actor.email'] });
  const filters = { action: 'login', category: ['!configuration'] } as const;
  await client.webhooks.create({ url: 'https://x.example', filters, headers: { 'x-key': 'k' } });
  return scopes.join();
}

export const parts = [createRecorder, createOutbox, captureAudit, IndelibleError];

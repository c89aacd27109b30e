// What a host product does with the client, run on each runtime as it is installed there.
import {
  createClient,
  defineCatalogue,
  diffOf,
  IndelibleError,
  newEventId,
  verifyEvent,
} from '@indelible/client';
import { verifyWebhook } from '@indelible/client/webhooks';

const actor = { id: '7f9c2ba4-e88f-4a1b-9c3d-1f2e3d4c5b6a', role: 'admin' };
const resource = { type: 'invoice', id: '0b54a1de-6e0f-4c66-a24c-2c4f6f2c7a11' };

/** Records, lists, proves, is refused, and receives; answers JSON text of what came of it. */
export async function journey(url, key, webhook) {
  const catalogue = defineCatalogue({ actions: ['refund'], resourceTypes: ['invoice'] });
  const client = createClient({ url, key, catalogue, timeoutMs: 10_000 });
  await client.ready();
  const id = newEventId();
  const states = { before: { paid: true, token: 'a' }, after: { paid: false, token: 'b' } };
  const first = await client.record({ id, actor, action: 'refund', resource, ...states });
  const again = await client.record({ id, actor, action: 'refund', resource, ...states });
  const [second] = await client.recordBatch([
    { actor, action: 'delete', resource, before: states.after },
  ]);
  const listed = [];
  for await (const event of client.list({ resourceId: resource.id, limit: 1 }))
    listed.push(event.id);
  const proof = await verifyEvent(client, await client.get(id));
  const refusal = await client
    .record({ actor, action: 'Refund', resource })
    .catch((error) => error);
  const { message } = await verifyWebhook(webhook.body, webhook.headers, webhook.secret);
  return JSON.stringify({
    again: again.sequence === first.sequence,
    listed: listed.length === 2 && listed[0] === second.id && listed[1] === id,
    diff: JSON.stringify(first.diff) === JSON.stringify(diffOf(states.before, states.after)),
    after: (await client.get(id)).after,
    proof: proof.code,
    refusal: refusal instanceof IndelibleError ? refusal.code : String(refusal),
    hasRequestId: typeof refusal.requestId === 'string',
    webhook: message.type,
  });
}

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { retryPausesMs } from '@indelible/protocol';
import { testService } from '@indelible/testing/service';
import { hookedTenant, webhookCalls } from '@indelible/testing/webhook-setup';
import { expect, test } from 'vitest';
import { newSecret, signatureHeaders } from '../outbound/standard-webhooks.ts';

/* The receiver of docs/webhooks.md, as it stands there, given what the service sends. */

const page = readFileSync(join(import.meta.dirname, '../../../../docs/webhooks.md'), 'utf8');

interface Receiver {
  isSigned(headers: object, body: string, secrets: string[], nowMs?: number): boolean;
  receive(
    headers: object,
    body: string,
    secrets: string[],
    store: (events: { id: string }[]) => Promise<void>,
  ): Promise<number>;
}

async function documentedReceiver(): Promise<Receiver> {
  const [, code = ''] = /^```js\n([\s\S]*?)^```$/m.exec(page) ?? [];
  return import(`data:text/javascript,${encodeURIComponent(code)}`);
}

const service = await testService({ WEBHOOK_ALLOW_PRIVATE: 'true' });

test('the documented receiver takes what the service sends, and nothing that was changed or is old', async () => {
  const { isSigned, receive } = await documentedReceiver();
  const tenant = await hookedTenant(service);
  const hooks = webhookCalls(service, tenant);
  const { id, secret: first } = await hooks.create();
  const rotated = (await hooks.act(id, 'secret')).body.secret;
  const event = await hooks.record();
  await service.app.webhooks.tick();
  const call = tenant.receiver.calls.at(-1);
  if (!call) throw new Error('nothing arrived');
  const stored: string[] = [];
  const store = async (events: { id: string }[]) => void stored.push(...events.map((e) => e.id));
  expect(await receive(call.headers, call.raw, [rotated], store)).toBe(204);
  expect(stored).toContain(event.id);
  const at = Number(call.headers['webhook-timestamp']) * 1_000;
  const signed = (secrets: string[], raw = call.raw, nowMs = at) =>
    isSigned(call.headers, raw, secrets, nowMs);
  expect([
    signed([first]),
    signed([newSecret(), rotated]),
    signed([first], call.raw, at + 300_000),
  ]).toEqual([...[true, true, true]]);
  expect(signed([newSecret()])).toBe(false);
  expect(signed([first], `${call.raw} `)).toBe(false);
  for (const away of [-301_000, 301_000]) expect(signed([first], call.raw, at + away)).toBe(false);
  expect(await receive(call.headers, call.raw, [newSecret()], store)).toBe(401);
  await tenant.receiver.close();
});

test('the documented receiver refuses every call while a secret is not set', async () => {
  const { isSigned } = await documentedReceiver();
  const nowMs = Date.now();
  for (const secret of ['', 'whsec_', 'whsec_AAAA']) {
    const forged = signatureHeaders({ id: 'msg_1', body: '{}' }, [secret], nowMs);
    expect(() => isSigned(forged, '{}', [newSecret(), secret], nowMs)).toThrow('not set');
  }
});

test('the documented table of attempts is the schedule', () => {
  const rows = [...page.matchAll(/^\| \d\w\w \| (\d+) (\w+) \|$/gm)];
  const unitMs: Record<string, number> = { seconds: 1_000, minutes: 60_000, hours: 3_600_000 };
  const documented = rows.map(([, count, unit = '']) => Number(count) * (unitMs[unit] ?? 0));
  expect(documented).toEqual(retryPausesMs);
});

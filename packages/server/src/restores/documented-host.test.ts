import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { IncomingHttpHeaders } from 'node:http';
import { join } from 'node:path';
import { listen } from '@indelible/testing/http-receiver';
import { expectLogIntact } from '@indelible/testing/intact';
import { ivr, keyOf, recordChange, restore, restoreFields } from '@indelible/testing/restore-setup';
import { testService } from '@indelible/testing/service';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect, onTestFinished, test } from 'vitest';
import { formats } from '../http/json-schema.ts';
import { signatureHeaders } from '../outbound/standard-webhooks.ts';
import { Restore } from './schemas.ts';

/* The receiver of docs/restore.md, as it stands there, in front of the real service. */

const page = readFileSync(join(import.meta.dirname, '../../../../docs/restore.md'), 'utf8');

/** What the receiver is given of the product. */
interface Product {
  outcomes: Map<string, unknown>;
  mayRestore(call: { requestedBy: { role: string }; to: string }): Promise<string | null>;
  apply(resource: unknown, state: unknown): Promise<void>;
  set(resource: unknown, members: unknown): Promise<void>;
}

interface Receiver {
  isSigned(headers: IncomingHttpHeaders, body: string, secret: string, nowMs?: number): boolean;
  restore(
    headers: IncomingHttpHeaders,
    body: string,
    secret: string,
    product: Product,
  ): Promise<{ code: number; answer?: unknown }>;
}

async function documentedReceiver(): Promise<Receiver> {
  const [, code = ''] = /^```js\n([\s\S]*?)^```$/m.exec(page) ?? [];
  return import(`data:text/javascript,${encodeURIComponent(code)}`);
}

const service = await testService({ WEBHOOK_ALLOW_PRIVATE: 'true' });

test('the documented receiver applies and refuses what the service asks for, once each', async () => {
  const receiver = await documentedReceiver();
  const { id, key } = await service.tenant();
  const applied: unknown[] = [];
  const codes: number[] = [];
  let secret = '';
  const product: Product = {
    outcomes: new Map(),
    mayRestore: async ({ to }) => (to === 'after' ? 'not this one' : null),
    apply: async (...what) => void applied.push(what),
    set: async (...what) => void applied.push(what),
  };
  const { url: restoreUrl, close } = await listen(async ({ headers, body }) => {
    const { code, answer } = await receiver.restore(headers, body, secret, product);
    codes.push(code);
    return { status: code, body: answer };
  });
  onTestFinished(close);
  const put = { method: 'PUT', url: `/api/tenants/${id}`, body: { restoreUrl } } as const;
  secret = (await service.call(put)).body.restoreSecret;
  const restorer = await keyOf(service, id, ['restore:write']);
  const eventId = await recordChange(service, { key });
  expect((await restore(service, restorer, eventId)).body.status).toBe('applied');
  const refused = await restore(service, restorer, eventId, 'after');
  expect(refused.body).toMatchObject({ status: 'refused', reason: 'not this one' });
  expect(applied).toEqual([[ivr, { steps: ['Welcome'] }]]);
  expect((await restoreFields(service, restorer, eventId, ['steps'])).body.status).toBe('applied');
  expect(applied[1]).toEqual([ivr, { steps: ['Welcome'] }]);
  secret = `whsec_${randomBytes(32).toString('base64')}`;
  expect((await restore(service, restorer, eventId)).body.status).toBe('failed');
  expect(codes).toEqual([200, 200, 200, 401]);
  await expectLogIntact(service, id);
});

test('the documented signature check refuses old calls, other bodies and other versions', async () => {
  const { isSigned } = await documentedReceiver();
  // The example that Standard Webhooks publishes.
  const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
  const body = '{"test": 2432232314}';
  const nowMs = 1_614_265_330_000;
  const headers = {
    'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    'webhook-timestamp': '1614265330',
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  };
  expect(isSigned(headers, body, secret, nowMs)).toBe(true);
  expect(isSigned(headers, body, secret, nowMs + 301_000)).toBe(false);
  expect(isSigned(headers, `${body} `, secret, nowMs)).toBe(false);
  expect(isSigned({}, body, secret, nowMs)).toBe(false);
  for (const [name, value] of [
    ['webhook-id', 'msg_1'],
    ['webhook-timestamp', '1614265331'],
    ['webhook-signature', headers['webhook-signature'].replace('v1', 'v2')],
    ['webhook-signature', 'v1,'],
  ] as const) {
    expect(isSigned({ ...headers, [name]: value }, body, secret, nowMs), value).toBe(false);
  }
});

test('the documented answer has the shape of an answer', () => {
  const [, example = ''] = /^```json\n(\{\n {2}"id": "rst_[\s\S]*?)^```$/m.exec(page) ?? [];
  const validate = new Ajv2020({ strict: false, formats }).compile(Restore);
  expect(validate(JSON.parse(example)), JSON.stringify(validate.errors)).toBe(true);
});

test('the documented signature check refuses every call while the secret is not set', async () => {
  const { isSigned } = await documentedReceiver();
  const nowMs = Date.now();
  for (const secret of ['', 'whsec_', 'whsec_AAAA']) {
    const forged = signatureHeaders({ id: 'rst_1', body: '{}' }, [secret], nowMs);
    expect(() => isSigned(forged, '{}', secret, nowMs)).toThrow('not set');
  }
});

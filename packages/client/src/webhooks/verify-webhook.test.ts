import fc from 'fast-check';
import { Webhook } from 'standardwebhooks';
import { expect, test } from 'vitest';
import { newSecret, signatureHeaders } from '../../../server/src/outbound/standard-webhooks.ts';
import {
  verifySignature,
  verifyWebhook,
  type WebhookHeaders,
  WebhookVerificationError,
} from './index.ts';

const secret = newSecret();
const now = Date.UTC(2025, 8, 20, 12);
const body = JSON.stringify({
  type: 'audit.webhook.test',
  timestamp: '',
  data: { webhookId: 'ñ' },
});
const signed = (secrets = [secret], nowMs = now, text = body) =>
  signatureHeaders({ id: 'msg_1', body: text }, secrets, nowMs);

/** The code of the refusal. */
async function refusal(headers: WebhookHeaders, text = body) {
  const error = await verifyWebhook(text, headers, secret, { now }).catch((e: unknown) => e);
  if (!(error instanceof WebhookVerificationError)) throw new Error(`no refusal: ${error}`);
  expect(error.message).not.toContain(secret);
  return error.code;
}

test('signatures of the standard library are believed here, and those of the service there', async () => {
  await fc.assert(
    fc.asyncProperty(fc.json(), fc.uuid(), async (json, id) => {
      const text = `{"type":"t","data":${json}}`;
      const nowMs = Date.now();
      const library = new Webhook(secret);
      const headers = {
        'webhook-id': id,
        'webhook-timestamp': String(Math.floor(nowMs / 1_000)),
        'webhook-signature': library.sign(id, new Date(nowMs), text),
      };
      expect((await verifyWebhook(text, headers, secret)).id).toBe(id);
      expect(library.verify(text, signed([secret], nowMs, text))).toEqual(JSON.parse(text));
    }),
  );
});

test('headers of Node, of the Fetch API and in other cases are read; body as text or bytes', async () => {
  const headers = signed();
  const shouted = Object.fromEntries(Object.entries(headers).map(([k, v]) => [k.toUpperCase(), v]));
  for (const each of [headers, new Headers(headers), shouted]) {
    for (const text of [body, new TextEncoder().encode(body)]) {
      const { id, message } = await verifyWebhook(text, each, secret, { now });
      expect(id).toBe('msg_1');
      expect(message).toEqual(JSON.parse(body));
    }
  }
});

test('while a secret is replaced, either side may be the one that is ahead', async () => {
  const next = newSecret();
  await verifyWebhook(body, signed([next, secret]), secret, { now });
  await verifyWebhook(body, signed([next]), [secret, next], { now });
  expect(await refusal(signed([next]))).toBe('wrong_signature');
});

test('a refusal says what to look at: secret and body, or the clock', async () => {
  const parsed = JSON.stringify(JSON.parse(body), null, 1);
  await expect(verifyWebhook(parsed, signed(), secret, { now })).rejects.toThrow(
    /secrets belong to this webhook and that the body is exactly as it arrived/,
  );
  await expect(verifyWebhook(body, signed(), secret, { now: now + 3_600_000 })).rejects.toThrow(
    'the message is 3600 s old, and 300 s are tolerated: is the clock right?',
  );
});

test('a message that is changed on the way is not believed', async () => {
  const headers = signed();
  expect(await refusal(headers, `${body} `)).toBe('wrong_signature');
  expect(await refusal({ ...headers, 'webhook-id': 'msg_2' })).toBe('wrong_signature');
  const later = String(now / 1_000 + 1);
  expect(await refusal({ ...headers, 'webhook-timestamp': later })).toBe('wrong_signature');
  const signature = headers['webhook-signature'] ?? '';
  for (const other of [
    signature.replace('v1,', 'v2,'),
    signature.replace('v1,', ''),
    signature.slice(0, -8),
    `v1,${Buffer.from('short').toString('base64')}`,
    'v1,',
    '!',
  ]) {
    expect(await refusal({ ...headers, 'webhook-signature': other }), other).toBe(
      'wrong_signature',
    );
  }
  await verifyWebhook(body, { ...headers, 'webhook-signature': `v1a,x ${signature}` }, secret, {
    now,
  });
});

test('a message is believed for five minutes, either way, and no second longer', async () => {
  const at = (seconds: number) => signed([secret], now + seconds * 1_000);
  for (const seconds of [-300, 300]) await verifyWebhook(body, at(seconds), secret, { now });
  expect(await refusal(at(-301))).toBe('too_old');
  expect(await refusal(at(301))).toBe('too_new');
  await verifyWebhook(body, at(-900), secret, { now, toleranceSeconds: 900 });
  const never = verifyWebhook(body, at(0), secret, { now, toleranceSeconds: Number.NaN });
  await expect(never).rejects.toThrow(WebhookVerificationError);
});

test.each(['webhook-id', 'webhook-timestamp', 'webhook-signature'])(
  'a message without the header %s gets a sentence that names it',
  async (name) => {
    const { [name]: _left, ...headers } = signed();
    expect(await refusal(headers)).toBe('missing_header');
    expect(await refusal({ ...headers, [name]: ['two', 'of them'] })).toBe('missing_header');
    await expect(verifyWebhook(body, headers, secret, { now })).rejects.toThrow(name);
  },
);

test('a header may be a list of one, as servers with lists of headers give it', async () => {
  const lists = Object.entries(signed()).map(([name, value]) => [name, [value]]);
  const verified = await verifyWebhook(body, Object.fromEntries(lists), secret, { now });
  expect(verified.id).toBe('msg_1');
  for (const list of [[], [''], ['a', 'a']]) {
    expect(await refusal({ ...signed(), 'webhook-id': list })).toBe('missing_header');
  }
});

test.each(['soon', '1e9', '-5', ' 1', '1.5', '9'.repeat(13)])(
  'the timestamp %s is refused before anything is computed',
  async (timestamp) => {
    expect(await refusal({ ...signed(), 'webhook-timestamp': timestamp })).toBe('malformed_header');
  },
);

test('a thousand signatures are not looked at', async () => {
  const many = `${signed()['webhook-signature']} `.repeat(1_000);
  expect(await refusal({ ...signed(), 'webhook-signature': many })).toBe('malformed_header');
});

test.each(['', 'null', '[]', '{"data":1}', '{"type":1}', '{"type":"a","type":"b"}', '{'])(
  'a signed body %s is none of the service’s',
  async (text) => {
    expect(await refusal(signed([secret], now, text), text)).toBe('malformed_body');
  },
);

test('a secret that cannot be one is the receiver’s fault, and is not quoted', async () => {
  for (const wrong of ['', 'whsec_', 'whsec_not base64!', [], ['whsec_']] as const) {
    const verify = verifyWebhook(body, signed(), wrong, { now });
    await expect(verify).rejects.toThrow(TypeError);
    await expect(verify).rejects.not.toThrow('base64!');
  }
});

test('a secret that is not set, and a body that was parsed, are told as what they are', async () => {
  const unset = undefined as unknown as string;
  for (const secrets of [unset, [secret, unset]]) {
    await expect(verifyWebhook(body, signed(), secrets, { now })).rejects.toThrow(/check where/);
  }
  for (const parsed of [JSON.parse(body), undefined, null]) {
    await expect(verifyWebhook(parsed, signed(), secret, { now })).rejects.toThrow(/that arrived/);
  }
});

test('a stream’s message is checked by its signature alone, whatever its body is', async () => {
  for (const text of ['[]', '[{"id":1},{"id":2}]', '{"id":1}\n{"id":2}\n', '']) {
    const headers = signed([secret], now, text);
    expect(await verifySignature(text, headers, secret, { now })).toBe('msg_1');
    const changed = verifySignature(`${text} `, headers, secret, { now });
    await expect(changed).rejects.toMatchObject({ code: 'wrong_signature' });
    const late = verifySignature(text, headers, secret, { now: now + 301_000 });
    await expect(late).rejects.toMatchObject({ code: 'too_old' });
  }
});

import { createHmac } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { expect, test } from 'vitest';
import { newSecret, signatureHeaders, signedPost } from './standard-webhooks.ts';

const nowMs = Date.UTC(2026, 5, 1, 12, 0, 0, 999);
const message = { id: 'msg_1', body: '{"text":"ñ"}' };

test('the headers hold the id, the time in seconds and the HMAC of id, time and body', () => {
  const secret = newSecret();
  const headers = signatureHeaders(message, [secret], nowMs);
  const key = Buffer.from(secret.slice(6), 'base64');
  const mac = createHmac('sha256', key).update(`msg_1.1780315200.${message.body}`).digest('base64');
  expect(key).toHaveLength(32);
  expect(headers).toEqual({
    'webhook-id': 'msg_1',
    'webhook-timestamp': '1780315200',
    'webhook-signature': `v1,${mac}`,
  });
});

test('the published example of Standard Webhooks is signed as published', () => {
  const example = { id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', body: '{"test": 2432232314}' };
  const headers = signatureHeaders(
    example,
    ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'],
    1_614_265_330_000,
  );
  expect(headers['webhook-signature']).toBe('v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=');
});

test('while a secret is replaced, a receiver with one of the two can verify; no other can', () => {
  const [old, next] = [newSecret(), newSecret()];
  const { headers, body } = signedPost('https://a.example', message, [next, old], Date.now());
  for (const secret of [old, next]) {
    expect(new Webhook(secret).verify(body, headers)).toEqual({ text: 'ñ' });
    expect(() => new Webhook(secret).verify(`${body} `, headers)).toThrow();
  }
  expect(() => new Webhook(newSecret()).verify(body, headers)).toThrow();
});

import { eventOf, testService } from '@indelible/testing/service';
import { expect, test } from 'vitest';
import {
  type AuditEvent,
  createClient,
  type EventInput,
  FormatError,
  verifyEvent,
} from '../index.ts';

/* Proofs of a real service, and what an attacker between it and us can make of them. */

const service = await testService();
const url = await service.app.http.listen({ host: '127.0.0.1', port: 0 });
const { key } = await service.tenant();
const client = createClient({ url, key });
const event = eventOf({ before: { seconds: 30 }, after: { seconds: 60 } }) as unknown as EventInput;
const { id, sequence } = await client.record(event);
const other = await client.record({ ...event, action: 'delete' });
const { checkpoint } = await verifyEvent(client, id);
const origin = checkpoint?.origin ?? '';
const vkeys = (await client.log.keys(origin)).keys.map(({ vkey }) => vkey);

/** A client that reads through an attacker who changes the answers. */
function changed(change: (text: string) => string) {
  return createClient({
    url,
    key,
    attempts: 1,
    fetch: async (input, init) => {
      const answer = await fetch(input, init);
      return new Response(change(await answer.text()), answer);
    },
  });
}

test('an event is proven by its content, its place and the signature, and the verdict says so', async () => {
  const verdict = await verifyEvent(client, id, { vkeys });
  expect(verdict).toMatchObject({ valid: true, code: 'valid', keys: 'given' });
  expect(verdict.message).toContain(`event ${id} is entry ${sequence} of that log`);
  expect(verdict.limits).toContain('tells the truth');
  expect(verdict.event).toEqual(await client.get(id));
  expect(verdict.leafHash).toMatch(/^[0-9a-f]{64}$/);
});

test('keys that only the service states are named as such', async () => {
  const verdict = await verifyEvent(client, id);
  expect(verdict).toMatchObject({ valid: true, keys: 'stated' });
  expect(verdict.message).toContain('comes from the service itself');
});

test('shown values are compared with proven ones, states only where they were shown', async () => {
  const whole = await client.get(id);
  const { before: _before, after: _after, ...listed } = whole;
  for (const shown of [whole, listed, await client.record({ ...event, id })]) {
    expect(await verifyEvent(client, shown as AuditEvent)).toMatchObject({ valid: true });
  }
  for (const forged of [
    { ...listed, actor: { ...listed.actor, email: 'someone@example.com' } },
    { ...whole, after: { seconds: 61 } },
    { ...listed, erased: ['change'] as const },
    { ...listed, sequence: 1 },
  ]) {
    const verdict = await verifyEvent(client, forged as AuditEvent);
    expect(verdict).toMatchObject({ valid: false, code: 'content_mismatch', event: null });
  }
});

/** Another digit of hexadecimal, and of base64. */
const another = (digit: string) => (digit === '0' ? '1' : '0');

test.each([
  ['content', 'content_mismatch', (text: string) => text.replace('ana@', 'eve@')],
  ['path', 'not_included', (text: string) => text.replace(/(?<="path":\[")./, another)],
  ['signature', 'bad_signature', (text: string) => text.replace(/.(?=.{20}\\n")/, another)],
  ['whole', 'malformed_proof', () => '{}'],
])('a proof whose %s was changed on the way proves nothing', async (_, code, change) => {
  const verdict = await verifyEvent(changed(change), id, { vkeys });
  expect(verdict).toMatchObject({ valid: false, code, checkpoint: null });
});

test('the proof of another event is no proof of this one', async () => {
  const swapped = { log: { ...client.log, proof: () => client.log.proof(other.id) } };
  expect(await verifyEvent(swapped, id, { vkeys })).toMatchObject({ code: 'content_mismatch' });
});

test('a key of another log, or none at all, is no reason to believe', async () => {
  const stranger = vkeys.map((vkey) => vkey.replace(/^[^+]+/, 'elsewhere'));
  await expect(verifyEvent(client, id, { vkeys: stranger })).rejects.toThrow(FormatError);
  expect(await verifyEvent(client, id, { vkeys: [] })).toMatchObject({ code: 'unknown_key' });
  const silent = { log: { ...client.log, keys: async () => ({ origin, keys: [] }) } };
  expect(await verifyEvent(silent, id)).toMatchObject({ valid: false, code: 'unknown_key' });
});

test('an event that is not there has no proof', async () => {
  const missing = 'evt_audit_01k47h6zr0f868n1725yta1txt';
  expect(await verifyEvent(client, missing)).toMatchObject({ valid: false, code: 'no_proof' });
});

test('one key may be given without a list', async () => {
  const [vkey = ''] = vkeys;
  expect(await verifyEvent(client, id, { vkeys: vkey })).toMatchObject({ code: 'valid' });
});

test.each([null, {}, { keys: {} }, { keys: [null, 7, { vkey: 7 }] }])(
  'an answer %j states no key, and is no reason to believe',
  async (answer) => {
    const odd = { log: { ...client.log, keys: async () => answer as never } };
    expect(await verifyEvent(odd, id)).toMatchObject({ valid: false, code: 'unknown_key' });
  },
);

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { withholdSegments } from '../event/withheld-body.ts';
import { FormatError } from '../log/bytes.ts';
import {
  checkpointNote,
  origin,
  plainEvent,
  proofJson,
  type RecordedEvent,
  record,
  sha,
  vkeys,
} from '../testing/recorded-log.ts';
import { anyInput, parsedOrRefused, withOneByteChanged } from '../testing/tampering.ts';
import { parseEventProof, verifyEventProof } from './event-proof.ts';

const events = Array.from({ length: 13 }, (_, index) => plainEvent(index));
events[5] = plainEvent(5, {
  before: '{"limit":5,"tags":["a","b"]}',
  after: '{"limit":6}',
  reason: 'Ticket 7, “urgent”',
  actorRole: 'superadmin',
  crossTenant: true,
  category: 'cross_tenant',
});
const log = record(events);
const recorded = log[5] as RecordedEvent;

const proof = await proofJson(log, recorded);

const code = async (text: string, keys = vkeys) => (await verifyEventProof(sha, text, keys)).code;

/** The proof with the JSON members of these names replaced. */
const edited = (change: Record<string, unknown>) =>
  JSON.stringify({ ...JSON.parse(proof), ...change });
const editedEvent = (change: Record<string, unknown>) =>
  edited({ event: { ...JSON.parse(proof).event, ...change } });

test('the proof of every event of a log is valid, and says what follows', async () => {
  for (const each of log) {
    const verdict = await verifyEventProof(sha, await proofJson(log, each), vkeys);
    expect(verdict.code).toBe('valid');
    expect(verdict.message).toContain(`Against checkpoint ${origin} of size 13: event evt_audit_`);
    expect(verdict.message).toContain(` is entry ${each.sequence} of that log`);
  }
  const [only] = record([plainEvent(0)]) as [RecordedEvent];
  expect(await code(await proofJson([only], only))).toBe('valid');
});

test('the microseconds of a receipt are part of the proof', async () => {
  const { receivedAt } = JSON.parse(proof);
  expect(await code(edited({ receivedAt: receivedAt.replace('Z', '001Z') }))).toBe('leaf_mismatch');
});

test('each part that is not the right one gets its verdict', async () => {
  const other = JSON.parse(await proofJson(log, log[6] as RecordedEvent));
  const own = JSON.parse(proof);
  expect(await code('{}')).toBe('malformed_proof');
  expect(await code(edited({ more: 1 }))).toBe('malformed_proof');
  expect(await code(editedEvent({ reason: 'another' }))).toBe('content_mismatch');
  expect(await code(editedEvent({ after: { limit: 7 } }))).toBe('content_mismatch');
  expect(await code(editedEvent({ category: 'security' }))).toBe('content_mismatch');
  expect(await code(editedEvent({ timestamp: own.event.receivedAt }))).toBe('content_mismatch');
  expect(await code(editedEvent({ id: other.event.id }))).toBe('content_mismatch');
  expect(await code(editedEvent({ sequence: 6 }))).toBe('derived_field_mismatch');
  expect(await code(editedEvent({ hasState: false }))).toBe('derived_field_mismatch');
  expect(await code(editedEvent({ receivedAt: own.event.timestamp }))).toBe(
    'derived_field_mismatch',
  );
  expect(await code(edited({ commitment: other.commitment }))).toBe('content_mismatch');
  expect(await code(edited({ leafHash: other.leafHash }))).toBe('leaf_mismatch');
  expect(await code(edited({ path: other.path }))).toBe('not_included');
  expect(await code(edited({ path: [] }))).toBe('not_included');
  const moved = { event: { ...own.event, sequence: 6 }, sequence: 6 };
  expect(await code(edited(moved))).toBe('not_included');
  const shorter = checkpointNote(log.slice(0, 5));
  expect(await code(edited({ checkpoint: shorter }))).toBe('not_included');
  expect(await code(edited({ checkpoint: 'x' }))).toBe('malformed_checkpoint');
  expect(await code(edited({ checkpoint: own.checkpoint.replace('\n13\n', '\n14\n') }))).toBe(
    'bad_signature',
  );
  expect(await code(proof, [])).toBe('unknown_key');
  await expect(code(proof, ['no vkey'])).rejects.toThrow(FormatError);
});

test('a whole event that was never logged cannot be given a proof', async () => {
  const forged = record(log.map(({ event }) => ({ ...event, actorEmail: 'eve@example.com' })));
  const { event, salts, commitment, leafHash } = JSON.parse(
    await proofJson(forged, forged[5] as RecordedEvent),
  );
  expect(await code(edited({ event, salts, commitment, leafHash }))).toBe('not_included');
});

test('a proof with segments withheld is valid, and says which are not checked', async () => {
  const { event, salts, ...rest } = JSON.parse(proof);
  const line = JSON.stringify({ event, salts });
  const body = JSON.parse(withholdSegments(sha, line, ['identity', 'state']));
  const verdict = await verifyEventProof(sha, JSON.stringify({ ...body, ...rest }), vkeys);
  expect(verdict.code).toBe('valid');
  expect(verdict.message).toContain('Withheld, and so not checked: identity, state.');
  const { message } = await verifyEventProof(sha, proof, vkeys);
  expect(message).not.toContain('Withheld');
});

test('a proof with any byte changed is not valid', async () => {
  for (const changed of withOneByteChanged(new TextEncoder().encode(proof))) {
    const verdict = await verifyEventProof(sha, changed, vkeys);
    expect(verdict.code, Buffer.from(changed).toString()).not.toBe('valid');
  }
});

test('no input throws, and none is valid but one that says the same', async () => {
  const original = parseEventProof(proof);
  await fc.assert(
    fc.asyncProperty(anyInput(proof), async (input) => {
      const parsed = parsedOrRefused(() => parseEventProof(input));
      const verdict = await verifyEventProof(sha, input, vkeys);
      if (parsed === null) expect(verdict.code).toBe('malformed_proof');
      if (verdict.code === 'valid') expect(parsed).toEqual(original);
    }),
  );
});

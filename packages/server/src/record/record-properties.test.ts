import { canonicalize, type JsonValue } from '@indelible/protocol';
import { costlyRuns, eventArbitrary, spoiltEventArbitrary } from '@indelible/testing/arbitraries';
import { recordingService } from '@indelible/testing/recording';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { anyCharacter } from '../../../protocol/src/testing/any-character.ts';

const { service, tenant, recordBatch, read } = await recordingService();

const anyJson = fc.jsonValue({ stringUnit: anyCharacter, maxDepth: 4 });
const send = (body: unknown) =>
  service.call({ method: 'POST', url: '/api/audit-logs', key: tenant.key, body });
const json = (value: unknown) => canonicalize(value as JsonValue);

test('any JSON sent as an event is answered by 201 or a problem the caller can mend', async () => {
  const body = fc.oneof(anyJson, spoiltEventArbitrary);
  await fc.assert(
    fc.asyncProperty(body, async (event) => {
      const answer = await send(event);
      expect([201, 409, 413, 422]).toContain(answer.status);
      if (answer.body.code === 'validation_failed') {
        expect(answer.body.errors.length).toBeGreaterThan(0);
      }
    }),
    costlyRuns,
  );
});

test('any JSON sent as a batch is answered by 200 with a result for each event, or 422', async () => {
  const events = fc.array(fc.oneof(anyJson, eventArbitrary, spoiltEventArbitrary), {
    maxLength: 8,
  });
  const body = fc.oneof(
    { weight: 1, arbitrary: anyJson },
    { weight: 4, arbitrary: fc.record({ events }) },
  );
  await fc.assert(
    fc.asyncProperty(body, async (batch) => {
      const { status, body: answer } = await service.call({
        method: 'POST',
        url: '/api/audit-logs/batch',
        key: tenant.key,
        body: batch,
      });
      expect([200, 422]).toContain(status);
      if (status === 422) return;
      const indexes = answer.results.map(({ index }: { index: number }) => index);
      expect(indexes).toEqual([...(batch as { events: unknown[] }).events.keys()]);
    }),
    costlyRuns,
  );
});

test('any bytes as a body are answered with a problem and never with a fault', async () => {
  const headers = { 'content-type': 'application/json' };
  const valid = fc
    .tuple(eventArbitrary, fc.nat(), fc.nat({ max: 255 }))
    .map(([event, at, byte]) => {
      const bytes = Buffer.from(JSON.stringify(event));
      bytes[at % bytes.length] = byte;
      return bytes;
    });
  const anyBytes = fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes));
  await fc.assert(
    fc.asyncProperty(fc.oneof(anyBytes, valid), async (raw) => {
      const call = {
        method: 'POST',
        url: '/api/audit-logs',
        key: tenant.key,
        raw,
        headers,
      } as const;
      expect([201, 400, 413, 422]).toContain((await service.call(call)).status);
    }),
    costlyRuns,
  );
});

test('any valid event is read exactly as it was sent, alone and from a batch', async () => {
  await fc.assert(
    fc.asyncProperty(eventArbitrary, eventArbitrary, async (alone, among) => {
      const { status, body } = await send(alone);
      expect(status).toBe(201);
      const { body: batch } = await recordBatch([among]);
      for (const [id, sent] of [
        [body.id, alone],
        [batch.results[0].id, among],
      ]) {
        const { body: found } = await read(id);
        const { actor, action, resource, diff, reason, before, after } = found;
        expect(json({ actor, action, resource, diff, reason, before, after })).toBe(json(sent));
        expect(found.crossTenant).toBe(sent.actor.role === 'superadmin');
        expect(found.hasState).toBe(sent.before !== null || sent.after !== null);
      }
    }),
    costlyRuns,
  );
});

test('sent twice with an id of its own, any event is stored once', async () => {
  await fc.assert(
    fc.asyncProperty(eventArbitrary, async (event) => {
      const first = await send(event);
      const again = await send({ ...event, id: first.body.id });
      expect([again.status, again.text]).toEqual([200, first.text]);
    }),
    costlyRuns,
  );
});

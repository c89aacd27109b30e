import { expect, test } from 'vitest';
import { createClient, IndelibleError } from '../index.ts';
import { type Answer, scriptedService } from '../testing/scripted-service.ts';

const tenantId = '7f9c2ba4-e88f-4a1b-9c3d-1f2e3d4c5b6a';
const logId = '0'.repeat(32);

/** The log calls of a client of a service that gives these answers. */
async function answering(...answers: Answer[]) {
  const service = await scriptedService(answers);
  const client = createClient({ url: service.url, key: 'idl_test', tenantId, reason: 'why' });
  return { ...service, log: client.log };
}

const text = (bytes: Uint8Array | null) => bytes && new TextDecoder().decode(bytes);
const type = (name: string) => ({ 'content-type': name });
const missing = { status: 404, body: { code: 'not_found', detail: 'there is no such thing' } };

test('a note, a tile and a proof come as the very bytes that were sent', async () => {
  const note = 'origin\n1\nroot=\n\n\u2014 name sig\n';
  const { log, received } = await answering(
    { headers: type('text/plain; charset=utf-8'), body: note },
    { headers: type('application/octet-stream'), body: '\ufeffbytes ñ' },
    { headers: type('application/json; charset=utf-8'), body: '{ "a": 1,  "a": 2 }' },
  );
  expect(text(await log.checkpoint())).toBe(note);
  expect(Buffer.from((await log.tile(logId, 'tile/0/000')) ?? []).toString()).toBe('\ufeffbytes ñ');
  expect(text(await log.proof('evt_audit_1'))).toBe('{ "a": 1,  "a": 2 }');
  expect(received.map(({ line }) => line)).toEqual([
    'GET /api/audit-logs/checkpoint',
    `GET /l/${logId}/tile/0/000`,
    'GET /api/audit-logs/evt_audit_1/proof',
  ]);
  for (const { headers } of received) {
    expect(headers).toMatchObject({ 'x-tenant-id': tenantId, 'x-access-reason': 'why' });
  }
});

test('a missing thing is null, and any other refusal is an error', async () => {
  const absent = await answering(missing);
  expect(await absent.log.tile(logId, 'tile/0/001')).toBeNull();
  expect(await absent.log.proof('evt_audit_1')).toBeNull();
  expect(await absent.log.consistency(1, 9)).toBeNull();
  const refusal = { status: 403, body: { code: 'forbidden', detail: 'no' } };
  const { log } = await answering(refusal);
  await expect(log.tile(logId, 'tile/0/001')).rejects.toThrow(IndelibleError);
  await expect(log.checkpoint()).rejects.toMatchObject({ code: 'forbidden' });
});

test('a web page in place of a note is an unexpected answer, not a note', async () => {
  const { log } = await answering({ headers: type('text/html'), body: '<html>welcome</html>' });
  await expect(log.checkpoint()).rejects.toMatchObject({ code: 'unexpected_answer' });
});

test('bodies follow their links, but never to another service', async () => {
  const link = '<https://elsewhere.example.com/l/x/events?after=evt_audit_2>; rel="next"';
  const cutoff = { 'retention-cutoff': '2026-01-02T03:04:05.006Z' };
  const ndjson = type('application/x-ndjson');
  const { log, received } = await answering(
    { headers: { ...ndjson, ...cutoff, link }, body: 'a\nb\n' },
    { headers: ndjson, body: 'c\n' },
  );
  const pages = [];
  for await (const page of log.bodies(logId)) pages.push({ ...page, bytes: text(page.bytes) });
  expect(pages).toEqual([
    { bytes: 'a\nb\n', cutoffMs: Date.UTC(2026, 0, 2, 3, 4, 5, 6), next: 'after=evt_audit_2' },
    { bytes: 'c\n', cutoffMs: null, next: null },
  ]);
  expect(received.map(({ line }) => line)).toEqual([
    `GET /l/${logId}/events`,
    `GET /l/${logId}/events?after=evt_audit_2`,
  ]);
});

test('bodies can be read from where another call has stopped', async () => {
  const { log, received } = await answering({ headers: type('application/x-ndjson'), body: '' });
  for await (const { bytes } of log.bodies(logId, 'after=evt_audit_7'))
    expect(bytes).toHaveLength(0);
  expect(received[0]?.line).toBe(`GET /l/${logId}/events?after=evt_audit_7`);
});

test('an answer that is longer than such an answer can be is refused, and not asked for again', async () => {
  const long = { headers: type('text/plain'), body: 'x'.repeat(70_000) };
  const { log, received } = await answering(long, long);
  await expect(log.checkpoint()).rejects.toMatchObject({ code: 'unexpected_answer' });
  expect(received).toHaveLength(1);
  const tile = await answering({ headers: type('application/octet-stream'), body: long.body });
  await expect(tile.log.tile(logId, 'tile/0/000')).rejects.toThrow(/longer than 65536 bytes/);
});

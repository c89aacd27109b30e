import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type CommittedEvent, segmentNames, storedFields } from '@indelible/protocol';
import { newFolder } from '@indelible/testing/folders';
import { expect, test } from 'vitest';
import { sha } from '../crypto/sha256.ts';
import { type ArchivedRow, rowOf } from './archived-row.ts';
import { openPartWriter } from './draft-part.ts';
import { readPart } from './read-part.ts';

const uuid = '0199c0de-4b1e-7a55-8d37-6c2f90ab1e24';
const tenantId = '0199c0de-4b1e-7a55-8d37-6c2f90ab1e25';
const texts = ['\ufeffbegins with a byte order mark', '', ' ', 'a\u0000b', '😀\u{10ffff}'];

/** An event of which every text is this one, or JSON with it. */
function eventWith(text: string): CommittedEvent {
  const isJson = (key: string) => /^(diff|before|after|context)/.test(key);
  const textFor = (key: string) => (isJson(key) ? JSON.stringify({ a: text }) : text);
  const values = storedFields
    .filter(({ segment, kind }) => segment && kind !== 'eventId')
    .map(({ key, kind }) => [key, kind === 'boolean' ? true : textFor(key)]);
  return { ...Object.fromEntries(values), tenantId, uuid };
}

test('a part that is read back has every text and time as it was written', async () => {
  const salts = segmentNames.map((_, at) => new Uint8Array(16).fill(at));
  const hashes = segmentNames.map(() => null);
  const receivedAtUs = 1_790_000_000_123_456;
  const entry = { eventUuid: uuid, receivedAtUs, commitment: new Uint8Array(32) };
  const events = texts.map(eventWith);
  const writer = await openPartWriter();
  for (const [at, event] of events.entries())
    writer.append(rowOf(sha, at, { ...entry, version: 2 }, { event, salts, hashes }));
  const folder = newFolder();
  const paths = { events: join(folder, 'events'), identity: join(folder, 'identity') };
  const files = writer.end();
  writeFileSync(paths.events, files.events);
  writeFileSync(paths.identity, files.identity);
  const rows: ArchivedRow[] = [];
  for await (const page of readPart(paths, tenantId)) rows.push(...page);
  expect(rows.map(({ body }) => body?.event)).toEqual(events);
  expect(rows.map((row) => [row.sequence, row.receivedAtUs, row.version])).toEqual(
    texts.map((_, at) => [at, receivedAtUs, 2]),
  );
});

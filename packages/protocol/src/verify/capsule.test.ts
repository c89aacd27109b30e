import { expect, test } from 'vitest';
import type { CommittedEvent } from '../event/event-fields.ts';
import { typeId } from '../event/event-id.ts';
import { encodeUtf8, formatBase64, formatHex } from '../log/bytes.ts';
import { createFrontier, emptyLogState } from '../log/merkle.ts';
import {
  bodyLine,
  checkpointNote,
  entriesOf,
  firstMs,
  plainEvent,
  proofJson,
  type RecordedEvent,
  record,
  recordPlain,
  sha,
  tenantId,
  vkeys,
} from '../testing/recorded-log.ts';
import { verifyCapsule } from './capsule.ts';
import { type CapsuleData, capsuleFormat, capsuleJson } from './capsule-data.ts';

/* Capsules of a service that records whatever it likes; e2e/capsule.test.ts verifies real ones. */

const events = Array.from({ length: 7 }, (_, index) => plainEvent(index));
const log = recordPlain(events.length);
const ids = log.map((recorded) => JSON.parse(bodyLine(recorded)).event.id);
const isoTime = (ms: number) => new Date(ms).toISOString();

/** All of the log that a capsule has which begins at the entry `first`. */
function logFrom(first: number) {
  const before = createFrontier(emptyLogState, sha);
  for (const { leaf } of log.slice(0, first)) before.append(leaf);
  const frontier = formatHex(before.state().frontier);
  return { first, frontier, entries: formatBase64(entriesOf(log.slice(first))) };
}

const data: CapsuleData = {
  format: capsuleFormat,
  madeAt: isoTime(firstMs),
  tenant: { id: tenantId, name: 'Acme' },
  search: {
    id: typeId('srch_', tenantId),
    url: 'http://localhost',
    createdAt: isoTime(firstMs),
    createdBy: { id: tenantId },
    filters: { from: isoTime(firstMs), to: isoTime(firstMs + 60_000) },
    matched: log.length,
    digest: formatHex(sha(encodeUtf8(ids.toReversed().join('\n'), 'the ids'))),
  },
  checkpoint: checkpointNote(log),
  vkeys,
  log: logFrom(0),
  bodies: log.map((recorded) => JSON.parse(bodyLine(recorded))),
  coverage: {
    logBeganAt: isoTime(firstMs),
    shownFrom: isoTime(firstMs),
    eventsInRange: { value: log.length, relation: 'eq' },
    totals: [],
  },
  sources: [],
};

/** The proof of an event that was recorded next. */
async function proofOf(event: CommittedEvent): Promise<object> {
  const later = record([...events, event]);
  return JSON.parse(await proofJson(later, later.at(-1) as RecordedEvent));
}

/** The verdict on a capsule with this data, which the service recorded as it does. */
async function verdictOf(changes: Partial<CapsuleData>) {
  const text = capsuleJson({ ...data, ...changes });
  const sha256 = formatHex(sha(encodeUtf8(text, 'the data')));
  const recording = plainEvent(events.length, {
    recordedByKind: 'service',
    resourceType: 'audit_log',
    action: 'download',
    category: 'data_access',
    after: JSON.stringify({ searchId: data.search.id, sha256 }),
  });
  const recordText = capsuleJson(await proofOf(recording));
  return verifyCapsule(sha, { data: text, record: recordText }, vkeys);
}

const problemsOf = async (changes: Partial<CapsuleData>) => (await verdictOf(changes)).problems;

test('a capsule with the whole log is intact', async () => {
  expect(await problemsOf({})).toEqual([]);
});

test('a capsule whose search counted other matches is damaged', async () => {
  const search = { ...data.search, matched: 1 };
  expect(await problemsOf({ search })).toEqual([expect.stringContaining('counted 1 matching')]);
});

test('a capsule says which persons and resources occur in no event, also one of a build that did not ask', async () => {
  const none = { value: 0, relation: 'eq' } as const;
  const totals = [
    { filter: 'user', value: 'bo', events: { ...none, value: 1 } },
    { filter: 'user', value: 'rhea', events: none },
  ];
  const unknownIn = async (unknownValues?: object) => {
    const search = { ...data.search, ...(unknownValues && { unknownValues }) };
    const coverage = { ...data.coverage, totals };
    return (await verdictOf({ search, coverage })).content?.unknownValues;
  };
  expect(await unknownIn({ resourceId: ['3205'] })).toEqual({ resourceId: ['3205'] });
  expect(await unknownIn({})).toEqual({});
  expect(await unknownIn()).toEqual({ user: ['rhea'] });
  expect(
    await problemsOf({ search: { ...data.search, unknownValues: { ip: ['x'] } as object } }),
  ).toEqual([expect.stringContaining('cannot be read')]);
});

test('entries that leave out what may be of the range are damage, also if they leave out all', async () => {
  const early = [
    'The data of the capsule cannot be read: the entries begin within the time range.',
  ];
  expect(await problemsOf({ log: logFrom(3) })).toEqual(early);
  expect(await problemsOf({ log: logFrom(log.length), bodies: [] })).toEqual(early);
});

test('more entries before the first than any log has are damage', async () => {
  const log = { ...logFrom(4), first: 2 ** 53, entries: '' };
  expect(await problemsOf({ log })).toEqual([expect.stringContaining('cannot be read')]);
});

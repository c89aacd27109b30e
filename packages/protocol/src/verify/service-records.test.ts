import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { ShownEvent } from '../event/committed-event.ts';
import { parseBodyLine } from '../event/event-body.ts';
import { withholdSegments } from '../event/withheld-body.ts';
import { bodyLine, firstMs, plainEvent, record, sha, tenantId } from '../testing/recorded-log.ts';
import { ServiceRecords } from './service-records.ts';

const own = { recordedByKind: 'service', resourceId: tenantId };
const terms = (plan: string, legalHold = false) =>
  JSON.stringify({ legalHold, name: 'Acme', plan });

/** The line of an event of this kind. */
function lineOf(changes: Parameters<typeof plainEvent>[1]): string {
  const [recorded] = record([plainEvent(0, { ...own, ...changes })]);
  return recorded === undefined ? '' : bodyLine(recorded);
}

function taken(line: string): ServiceRecords {
  const records = new ServiceRecords();
  records.take(parseBodyLine(line).event);
  return records;
}

const change = {
  action: 'update',
  resourceType: 'tenant',
  before: terms('Starter'),
  after: terms('Pro', true),
  diff: '{"legalHold":{"from":false,"to":true},"plan":{"from":"Starter","to":"Pro"}}',
};

test('a change of a tenant tells which plan and hold were in force, and which are', () => {
  const expected = {
    sequence: 0,
    timeMs: firstMs,
    before: { plan: 'Starter', legalHold: false },
    after: { plan: 'Pro', legalHold: true },
  };
  expect(taken(lineOf(change)).terms).toEqual([expected]);
  // With its states withheld the change alone says the same; with both withheld it is unknown.
  expect(taken(withholdSegments(sha, lineOf(change), ['state'])).terms).toEqual([expected]);
  expect(taken(withholdSegments(sha, lineOf(change), ['state', 'change'])).terms).toMatchObject([
    { before: null, after: null },
  ]);
});

test('a removal speaks of entries before its own, and a reopening of what was published', () => {
  const cutoff = '2025-08-01T00:00:00.000Z';
  const removal = { action: 'delete', resourceType: 'retention' };
  for (const countedFrom of ['receipt', undefined]) {
    // As canonical JSON; former releases did not write countedFrom.
    const after = JSON.stringify({ count: 7, countedFrom, cutoff, policy: 'Starter', size: 99 });
    expect(taken(lineOf({ ...removal, after })).removals).toEqual([
      {
        sequence: 0,
        timeMs: firstMs,
        cutoffMs: Date.parse(cutoff),
        size: 0,
        plan: 'Starter',
        isOffboarding: false,
        byTimestamp: countedFrom === undefined,
      },
    ]);
  }
  const reopening = { action: 'reopen', resourceType: 'audit_log' };
  const note = JSON.stringify({ lastPublishedCheckpoint: 'a note' });
  expect(taken(lineOf({ ...reopening, after: note })).reopenings).toEqual([
    { sequence: 0, note: 'a note' },
  ]);
});

test('only the service can say such things, nor of another tenant', () => {
  const other = '11111111-2222-4333-8444-555555555555';
  for (const made of [{ recordedByKind: 'api_key' }, { resourceId: other }]) {
    expect(taken(lineOf({ ...change, ...made })).terms).toEqual([]);
  }
});

test('a record of any content is read or passed over', () => {
  const kinds = [change, { action: 'delete', resourceType: 'retention' }];
  const state = fc.option(fc.dictionary(fc.constantFrom('plan', 'cutoff', 'size'), fc.jsonValue()));
  fc.assert(
    fc.property(fc.constantFrom(...kinds), state, state, (kind, before, after) => {
      const text = (value: unknown) => (value === null ? null : JSON.stringify(value));
      const event = { ...parseBodyLine(lineOf(change)).event, ...kind };
      new ServiceRecords().take({
        ...event,
        before: text(before),
        after: text(after),
        diff: '{"plan":7,"legalHold":null}',
      } as ShownEvent);
    }),
  );
});

import { expect, test } from 'vitest';
import type { Report } from './report.ts';
import { reportText } from './report-text.ts';

const hostile = '\u001b[2Jowned\u202e\nINTACT: forged';

function reportWith(changes: Partial<Report>): Report {
  return {
    what: 'log',
    subject: 'tenant',
    result: 'damaged',
    summary: 'summary',
    checkpoint: null,
    seenBefore: null,
    checked: {},
    cutoff: null,
    unproven: [],
    follows: [],
    doesNotFollow: [],
    firstDamage: null,
    findings: { count: 0, byCode: {}, kept: [] },
    seconds: 1,
    ...changes,
  };
}

const finding = (sequence: number | null, message: string) =>
  ({ code: 'content_mismatch', sequence, eventId: null, message }) as const;

test('nothing that is checked can write to the terminal, or forge a line of the report', () => {
  const checkpoint = { origin: hostile, size: 1, root: 'r', signedBy: [hostile], note: hostile };
  const text = reportText(
    reportWith({
      subject: hostile,
      summary: hostile,
      checkpoint: { ...checkpoint, keysFrom: 'bundle' },
      doesNotFollow: [hostile],
      findings: { count: 1, byCode: {}, kept: [finding(1, hostile)] },
      firstDamage: {
        sequence: 1,
        lastSequence: 1,
        eventId: hostile,
        timestamp: null,
        loggedEventId: hostile,
      },
    }),
  );
  expect(text).toContain('owned');
  expect(text.replaceAll('\n', '')).toMatch(/^[^\p{Cc}\u202e]+$/u);
  expect(text).not.toMatch(/^INTACT: forged/m);
});

test('twenty findings are shown, and how many more there are', () => {
  const kept = Array.from({ length: 100 }, (_, index) => finding(index, `number ${index}.`));
  const text = reportText(reportWith({ findings: { count: 1_234, byCode: {}, kept } }));
  expect(text).toContain('content_mismatch: number 19.');
  expect(text).not.toContain('number 20.');
  expect(text).toContain('and 1,214 more');
});

test('the report of damage at an unknown position says as much as is known', () => {
  const position = { sequence: 256, lastSequence: 511, eventId: null, timestamp: null };
  const between = { ...position, loggedEventId: null };
  expect(reportText(reportWith({ firstDamage: between }))).toContain(
    'The first damage: an entry from sequence 256 to 511; which one is unknown\n',
  );
  const checkpoint = { origin: 'o', size: 1, root: 'r', signedBy: [], note: 'n' };
  const unknown = reportText(reportWith({ checkpoint: { ...checkpoint, keysFrom: 'bundle' } }));
  expect(unknown).toContain('The first damaged entry is unknown.');
  expect(reportText(reportWith({}))).not.toContain('entry is unknown');
});

test('one of each is said as one', () => {
  const withheld = { change: 0, context: 0, identity: 0, state: 0 };
  const ofOne = { bodies: 1, intact: 1, newer: 0, expired: 1, stated: 0, outside: 0, unjudged: 0 };
  const checked = { files: 1, entries: 1, tiles: 1, bodies: { ...ofOne, withheld } };
  const text = reportText(reportWith({ checked, cutoff: '2026-01-01T00:00:00.000Z' }));
  for (const line of ['1 file:', '1 entry:', '1 hash tile,', '1 event that matches'])
    expect(text).toContain(line);
  expect(text).toContain('1 entry without an event');
});

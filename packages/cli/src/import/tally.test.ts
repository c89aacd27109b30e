import { expect, test } from 'vitest';
import { addConflict, countIn, type Ending, newTally, summaryJson, summaryText } from './tally.ts';

const ending: Ending = {
  seconds: 8,
  interrupted: false,
  rejectedFile: 'a.rejected.ndjson',
  conflictsFile: 'a.conflicts.ndjson',
};

function tallyOf() {
  const tally = { ...newTally(), lines: 120_010, created: 120_000, duplicates: 3, rejected: 7 };
  for (let n = 0; n < 6; n++) countIn(tally.rejectedByCode, 'malformed_json');
  countIn(tally.rejectedByCode, 'unknown_tenant');
  countIn(tally.warnings, 'truncated');
  return tally;
}

test('the summary says what became of every line, how fast, and where the rest is', () => {
  expect(summaryText(tallyOf(), ending)).toBe(
    [
      'lines                  120,010',
      'created                120,000',
      'duplicates             3',
      'rejected               7 (malformed_json 6, unknown_tenant 1), see a.rejected.ndjson',
      'conflicting sourceIds  0, see a.conflicts.ndjson',
      'tenants created        0',
      'seconds                8.0 (15,000 events/s)',
      'warnings               truncated 1',
      'the import can create unknown tenants: --create-tenants <plan>',
      '',
    ].join('\n'),
  );
});

test('the first twenty conflicts are shown with both lines, the others are counted', () => {
  const tally = tallyOf();
  for (let line = 1; line <= 23; line++) {
    addConflict(tally, { sourceId: `A\n${line}`, tenantId: 't', firstLine: line, line: line + 50 });
  }
  const text = summaryText(tally, ending);
  expect(text).toContain('  A⟨U+000A⟩1 of tenant t: lines 1 and 51\n');
  expect(text).toContain('  A⟨U+000A⟩20 of tenant t: lines 20 and 70\n  and 3 more\n');
  expect(summaryJson(tally, ending)).toMatchObject({
    conflicts: { count: 23, first: { length: 20 }, file: 'a.conflicts.ndjson' },
  });
});

test('a program gets the same counts', () => {
  expect(summaryJson(tallyOf(), { ...ending, seconds: 0 })).toMatchObject({
    lines: 120_010,
    created: 120_000,
    duplicates: 3,
    rejected: 7,
    rejectedByCode: { malformed_json: 6, unknown_tenant: 1 },
    eventsPerSecond: 0,
    interrupted: false,
  });
});

import { type BodyCounts, createFindings } from '@indelible/protocol';
import { expect, test } from 'vitest';
import { origin } from '../../../protocol/src/testing/recorded-log.ts';
import { logVerdict } from './log-verdict.ts';

const checkpoint = { origin, size: 300, root: new Uint8Array(32) };
const allIntact: BodyCounts = {
  bodies: 300,
  intact: 300,
  newer: 0,
  expired: 0,
  stated: 0,
  outside: 0,
  unjudged: 0,
  withheld: { change: 0, context: 0, identity: 0, state: 0 },
};

function verdictOf(counts: Partial<BodyCounts> | null, earlierSizes: number[] = []) {
  return logVerdict({
    checkpoint,
    findings: createFindings(),
    counts: counts && { ...allIntact, ...counts },
    latestCutoffMs: Date.UTC(2025, 0, 1),
    earlierSizes,
  });
}

test('the report of an undamaged log claims no more than was checked', () => {
  const { follows, doesNotFollow } = verdictOf({}, [120]);
  expect(follows).toEqual([
    'The 300 entries match the signed checkpoint, in order: none was changed, removed, ' +
      'inserted or moved.',
    'The first 120 of them match the checkpoint of size 120 that was verified before.',
    '300 events match the commitments of their entries, in all parts that are shown.',
    'Every entry has its event.',
  ]);
  expect(doesNotFollow).toHaveLength(2);
});

test('the report says what was not checked', () => {
  const unseen = (counts: Partial<BodyCounts> | null) =>
    verdictOf(counts, [1]).doesNotFollow.slice(2).join(' ');
  expect(verdictOf({}).doesNotFollow.join(' ')).toContain(
    'verified no earlier checkpoint of this log',
  );
  expect(unseen(null)).toContain('only the entries were checked');
  expect(unseen({ withheld: { change: 0, context: 0, identity: 7, state: 2 } })).toBe(
    'What identity said in 7 events: it is withheld. What state said in 2 events: it is withheld.',
  );
  expect(unseen({ intact: 290, expired: 10 })).toContain('What the 10 expired events said.');
  expect(unseen({ unjudged: 5 })).toContain('That no matching event is missing');
  expect(unseen({ newer: 3 })).toContain('3 events recorded since');
});

test('with bodies absent it is not said that every entry has its event', () => {
  for (const counts of [{ expired: 1 }, { stated: 1 }, { unjudged: 1 }, null]) {
    expect(verdictOf(counts).follows.join(' ')).not.toContain('Every entry has its event');
  }
  expect(verdictOf({ expired: 3 }).follows.join(' ')).toContain(
    '3 entries have no event any more: each is older than the plan kept, according to ' +
      'the records of the log; the latest cutoff is 2025-01-01T00:00:00.000Z.',
  );
});

test('absences that are merely stated keep a log from being called intact', () => {
  const { unproven, follows } = verdictOf({ intact: 297, stated: 3 });
  expect(unproven.join()).toMatch(
    /^3 events are absent. The only explanation is the stated cutoff/,
  );
  expect(follows.join(' ')).not.toContain('Every entry has its event');
  expect(verdictOf({}).unproven).toEqual([]);
});

test('the report concludes nothing from a damaged log', () => {
  const findings = createFindings();
  findings.add('root_mismatch', 'x');
  const { follows } = logVerdict({
    checkpoint,
    findings,
    counts: allIntact,
    latestCutoffMs: null,
    earlierSizes: [],
  });
  expect(follows).toEqual([]);
});

test('the first damage is the smallest sequence, with the event that any finding names', () => {
  const findings = createFindings();
  const add = (sequence: number | null, eventId: string | null) =>
    findings.add('missing_body', 'x', { sequence, eventId });
  add(null, null);
  expect(findings.first()).toBeNull();
  add(9, 'evt_audit_x');
  add(5, null);
  add(5, 'evt_audit_y');
  expect(findings.first()).toEqual({ sequence: 5, eventId: 'evt_audit_y' });
});

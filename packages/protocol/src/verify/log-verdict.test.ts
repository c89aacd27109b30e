import { expect, test } from 'vitest';
import { origin } from '../testing/recorded-log.ts';
import type { BodyCounts } from './body-pass.ts';
import { createFindings } from './findings.ts';
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

test('an undamaged log is called intact against its checkpoint, and no more is claimed', () => {
  const { code, summary, follows, doesNotFollow } = verdictOf({}, [120]);
  expect(code).toBe('intact');
  expect(summary).toBe(`Against checkpoint ${origin} of size 300: no damage in what was checked.`);
  expect(follows).toEqual([
    'The 300 entries match the signed checkpoint, in order: none was changed, removed, ' +
      'inserted or moved.',
    'The first 120 of them match the checkpoint of size 120 that was verified before.',
    '300 events match the commitments of their entries, in all parts that are shown.',
    'Every entry has its event.',
  ]);
  expect(doesNotFollow).toHaveLength(2);
});

test('what was not checked is said', () => {
  const unseen = (counts: Partial<BodyCounts> | null) =>
    verdictOf(counts, [1]).doesNotFollow.slice(2).join(' ');
  expect(verdictOf({}).doesNotFollow.join(' ')).toContain('this machine verified none earlier');
  expect(unseen(null)).toContain('only the entries were checked');
  expect(unseen({ withheld: { change: 0, context: 0, identity: 7, state: 2 } })).toBe(
    'What identity said in 7 events: it is withheld. What state said in 2 events: it is withheld.',
  );
  expect(unseen({ intact: 290, expired: 10 })).toContain('What the 10 expired events said.');
  expect(unseen({ outside: 4 })).toContain('4 events outside the range');
  expect(unseen({ unjudged: 5 })).toContain('That no matching event is missing');
  expect(unseen({ newer: 3 })).toContain('3 events recorded since');
});

test('with bodies absent it is not said that every entry has its event', () => {
  for (const counts of [{ expired: 1 }, { outside: 1 }, { unjudged: 1 }, null]) {
    expect(verdictOf(counts).follows.join(' ')).not.toContain('Every entry has its event');
  }
  expect(verdictOf({ expired: 3 }).follows.join(' ')).toContain(
    '3 entries have no event any more: each is older than the plan kept, according to ' +
      'the records of the log; the latest cutoff is 2025-01-01T00:00:00.000Z.',
  );
});

test('absences that somebody merely states keep a log from being called intact', () => {
  const { code, unproven, follows } = verdictOf({ intact: 297, stated: 3 });
  expect(code).toBe('unproven');
  expect(unproven.join()).toMatch(
    /^3 events are absent. The only explanation is the stated cutoff/,
  );
  expect(follows.join(' ')).not.toContain('Every entry has its event');
  expect(verdictOf({}).unproven).toEqual([]);
});

test('a damaged log is called so, with the first place that is known, and nothing follows', () => {
  const findings = createFindings();
  const input = { checkpoint, counts: allIntact, latestCutoffMs: null, earlierSizes: [] };
  findings.add({ code: 'root_mismatch', sequence: null, eventId: null, message: 'x' });
  const unknown = logVerdict({ ...input, findings });
  expect(unknown).toMatchObject({ code: 'damaged', follows: [] });
  expect(unknown.summary).toContain('The first damaged entry is unknown');
  findings.add({ code: 'missing_body', sequence: 9, eventId: 'evt_audit_x', message: 'x' });
  findings.add({ code: 'missing_body', sequence: 5, eventId: null, message: 'x' });
  expect(logVerdict({ ...input, findings }).summary).toBe(
    `Against checkpoint ${origin} of size 300: 3 finding(s). The first damaged entry found is 5.`,
  );
});

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { withholdSegments } from '../event/withheld-body.ts';
import { createFrontier, emptyLogState, type LogState } from '../log/merkle.ts';
import {
  bodyLine,
  checkpointOf,
  entriesOf,
  firstMs,
  found,
  plainEvent,
  type RecordedEvent,
  record,
  recordPlain,
  serviceLine,
  sha,
  tenantId,
} from '../testing/recorded-log.ts';
import { anyInput, withOneByteChanged } from '../testing/tampering.ts';
import { BodyPass, type BodyPassOptions } from './body-pass.ts';
import { EntryPass } from './entry-pass.ts';
import { createFindings } from './findings.ts';
import { type BodyCover, createBodyCover } from './retention-cover.ts';

const log = recordPlain(300);
const lines = log.map(serviceLine);
const checkpoint = checkpointOf(log);
const entries = entriesOf(log);

function verifyBodies(
  given: readonly (string | Uint8Array)[],
  options: Partial<BodyPassOptions> = {},
) {
  const findings = createFindings();
  const cover: BodyCover = createBodyCover({});
  const entryAt = (sequence: number) => entries.subarray(sequence * 60, sequence * 60 + 60);
  const all = { sha, findings, checkpoint, entryAt, cover, tenantId, ...options };
  const pass = new BodyPass(all);
  for (const line of given) pass.add(line);
  return { counts: pass.finish(), findings };
}

const edited = (index: number, from: string, to: string) => {
  const line = lines[index] ?? '';
  expect(line).toContain(from);
  return lines.with(index, line.replace(from, to));
};

test('an undamaged log passes, its bodies in any order', () => {
  fc.assert(
    fc.property(fc.shuffledSubarray(lines, { minLength: 300 }), (shuffled) => {
      const { counts, findings } = verifyBodies(shuffled);
      expect(found(findings)).toEqual([]);
      expect(counts).toMatchObject({ bodies: 300, intact: 300, expired: 0, newer: 0 });
    }),
    { numRuns: 10 },
  );
});

test('the end of a log passes on the hashes before it, which nothing else can replace', () => {
  for (const first of [0, 1, 255, 256, 299]) {
    const before = createFrontier(emptyLogState, sha);
    for (const { leaf } of log.slice(0, first)) before.append(leaf);
    const { frontier } = before.state();
    const found = (start: LogState) => {
      const findings = createFindings();
      const pass = new EntryPass({ sha, findings, checkpoint, start });
      pass.add(entries.subarray(first * 60));
      pass.finish();
      expect(pass.size).toBe(300);
      return findings.count();
    };
    expect(found({ size: first, frontier })).toBe(0);
    if (first === 0) continue;
    const changed = frontier.map((byte, at) => (at === 7 ? byte ^ 1 : byte));
    expect(found({ size: first, frontier: changed })).toBe(1);
    const { counts, findings } = verifyBodies(lines.slice(first), { first });
    expect([counts.intact, findings.count()]).toEqual([300 - first, 0]);
    const earlier = verifyBodies(lines.slice(first - 1), { first }).findings;
    expect(earlier.kept().map(({ code }) => code)).toEqual(['beyond_checkpoint']);
  }
});

test('a changed field of an event is found at its place', () => {
  const changes: [string, string, string][] = [
    ['"admin"', '"viewer"', 'content_mismatch'],
    ['ana.8@example.com', 'eve@example.com', 'content_mismatch'],
    ['203.0.113.7', '203.0.113.8', 'content_mismatch'],
    ['Mozilla', 'Mosaic', 'content_mismatch'],
    ['"update"', '"delete"', 'content_mismatch'],
    ['"queue"', '"agent"', 'content_mismatch'],
    ['0b54a1de', '0b54a1df', 'content_mismatch'],
    ['7f9c2ba4', '7f9c2ba5', 'content_mismatch'],
    ['"Sales"', 'null', 'content_mismatch'],
    ['"from":42', '"from":43', 'content_mismatch'],
    ['"reason":null', '"reason":""', 'content_mismatch'],
    ['"crossTenant":false', '"crossTenant":true', 'content_mismatch'],
    ['"configuration"', '"security"', 'content_mismatch'],
    ['"api_key"', '"service"', 'content_mismatch'],
    ['01990f12', '01990f13', 'content_mismatch'],
    ['0199c0de', '0199c0df', 'content_mismatch'],
    ['T10:16:02.562Z', 'T10:16:02.563Z', 'content_mismatch'],
    [
      '"receivedAt":"2025-09-03T10:16:07.800Z"',
      '"receivedAt":"2025-09-03T10:16:07.801Z"',
      'derived_field_mismatch',
    ],
    ['"hasState":false', '"hasState":true', 'derived_field_mismatch'],
    ['"before":null', '"before":{}', 'malformed_body'],
    ['"after":null', '"after":{"a":1}', 'malformed_body'],
    ['"email":"ana.8@example.com"', '"email":7', 'malformed_body'],
    ['"reason":null', '"reason":null,"note":"x"', 'malformed_body'],
  ];
  for (const [from, to, code] of changes) {
    const { counts, findings } = verifyBodies(edited(42, from, to));
    expect(found(findings), `${from} ${to}`).toEqual([`42 ${code}`]);
    expect(counts.intact).toBe(299);
  }
});

test('a line that cannot be read leaves its event missing, at its place', () => {
  const twice = (lines[42] ?? '').replace('"reason":null', '"reason":null,"reason":"x"');
  for (const broken of ['', 'x', '{', '[]', 'null', '{"event":{}}', twice, Uint8Array.of(255)]) {
    const { findings } = verifyBodies(lines.with(42, broken as string));
    expect(found(findings)).toEqual(['42 missing_body', 'null malformed_body']);
    expect(findings.first()).toMatchObject({ sequence: 42 });
  }
});

test('two events swapped in sequence, or in content, are found at both places', () => {
  const swappedSequence = lines
    .with(7, (lines[7] ?? '').replace('"sequence":7,', '"sequence":9,'))
    .with(9, (lines[9] ?? '').replace('"sequence":9,', '"sequence":7,'));
  expect(found(verifyBodies(swappedSequence).findings)).toEqual(['7 other_event', '9 other_event']);
  const [seven, nine] = [log[7], log[9]] as [RecordedEvent, RecordedEvent];
  const swappedContent = lines
    .with(7, bodyLine({ ...seven, event: { ...nine.event, uuid: seven.event.uuid } }))
    .with(9, bodyLine({ ...nine, event: { ...seven.event, uuid: nine.event.uuid } }));
  expect(found(verifyBodies(swappedContent).findings)).toEqual([
    '7 content_mismatch',
    '9 content_mismatch',
  ]);
});

test('a deleted event is found at its place, in the middle and at either end', () => {
  for (const at of [0, 150, 299]) {
    const { findings } = verifyBodies(lines.toSpliced(at, 1));
    expect(found(findings)).toEqual([`${at} missing_body`]);
    const [finding] = findings.kept();
    expect(finding?.eventId).toBe(JSON.parse(lines[at] ?? '').event.id);
    expect(finding?.message).toContain('Against checkpoint audit.example.com/l/');
    expect(finding?.message).toContain('of size 300: event evt_audit_');
  }
});

test('an inserted event is found, whatever sequence it claims', () => {
  const [forged] = record([plainEvent(1000)]) as [RecordedEvent];
  const inserted = (sequence: number) => [...lines, bodyLine({ ...forged, sequence })];
  expect(found(verifyBodies(inserted(5)).findings)).toEqual(['5 other_event']);
  expect(found(verifyBodies(inserted(300)).findings)).toEqual(['300 beyond_checkpoint']);
  expect(found(verifyBodies(inserted(2 ** 52)).findings)).toEqual([`${2 ** 52} beyond_checkpoint`]);
  // In the place of the event that was there.
  const replaced = lines.with(5, bodyLine({ ...forged, sequence: 5 }));
  expect(found(verifyBodies(replaced).findings)).toEqual(['5 other_event']);
});

test('an event given a sequence that another has is found at both places', () => {
  const moved = lines.with(20, (lines[20] ?? '').replace('"sequence":20,', '"sequence":30,'));
  for (const given of [moved, moved.toReversed()]) {
    expect(found(verifyBodies(given).findings)).toEqual(['20 missing_body', '30 other_event']);
  }
});

test('an event that comes twice is found once', () => {
  const { counts, findings } = verifyBodies([...lines, lines[11] ?? '']);
  expect(found(findings)).toEqual(['11 repeated_body']);
  expect(counts).toMatchObject({ bodies: 301, intact: 300 });
});

test('a changed, lost or exchanged salt is found', () => {
  const { salts } = JSON.parse(lines[33] ?? '');
  const flip = salts.event.replace(/^./, (digit: string) => (digit === '0' ? '1' : '0'));
  expect(found(verifyBodies(edited(33, salts.event, flip)).findings)).toEqual([
    '33 content_mismatch',
  ]);
  expect(found(verifyBodies(edited(33, salts.event, '')).findings)).toEqual(['33 malformed_body']);
  const exchanged = JSON.stringify({ ...salts, change: salts.event, event: salts.change });
  expect(found(verifyBodies(edited(33, JSON.stringify(salts), exchanged)).findings)).toEqual([
    '33 content_mismatch',
  ]);
});

test('events of another tenant do not pass for those of this one', () => {
  const { findings } = verifyBodies(lines, { tenantId: '0199c0de-4b1e-7a55-8d37-000000000000' });
  expect(findings.countByCode()).toEqual({ other_tenant: 300 });
  expect(findings.count()).toBe(300);
  expect(findings.kept()).toHaveLength(100);
  expect(verifyBodies(lines, { tenantId: null }).findings.count()).toBe(0);
});

test('the first damaged event is the one with the smallest sequence, whatever came first', () => {
  const shifted = lines.map((line) => line.replace('"admin"', '"viewer"')).toReversed();
  const { findings } = verifyBodies(shifted);
  expect(findings.first()).toMatchObject({ sequence: 0 });
  expect(findings.kept()[0]).toMatchObject({ sequence: 299 });
});

const anyMayLack: BodyCover = { latestCutoffMs: null, absenceOf: () => 'unjudged' };

test('a body with any byte changed never passes', () => {
  for (const changed of withOneByteChanged(new TextEncoder().encode(lines[3] ?? ''))) {
    const { counts, findings } = verifyBodies([changed], {
      checkpoint: { ...checkpoint, size: 5 },
      cover: anyMayLack,
    });
    expect(counts.intact, Buffer.from(changed).toString()).toBe(0);
    expect(findings.count()).toBe(1);
  }
});

test('no line of a bundle makes the pass throw', () => {
  const options = { cover: anyMayLack };
  fc.assert(
    fc.property(anyInput(lines[3] ?? ''), (input) => {
      const { counts, findings } = verifyBodies([input], options);
      expect(counts.intact + findings.count()).toBe(1);
    }),
  );
});

test('withheld and erased segments pass and are counted, without hiding a change', () => {
  const withheld = lines.map((line, at) =>
    at % 3 ? line : withholdSegments(sha, line, ['identity']),
  );
  const { counts, findings } = verifyBodies(withheld);
  expect(found(findings)).toEqual([]);
  expect(counts).toMatchObject({ intact: 300, withheld: { change: 0, identity: 100, state: 0 } });
  const changed = (withheld[0] ?? '').replace('"admin"', '"viewer"');
  expect(found(verifyBodies(withheld.with(0, changed)).findings)).toEqual(['0 content_mismatch']);
  const hash = JSON.parse(withheld[0] ?? '').hashes.identity;
  const otherHash = (withheld[0] ?? '').replace(hash, hash.replace(/^./, 'x'));
  expect(found(verifyBodies(withheld.with(0, otherHash)).findings)).toEqual(['0 malformed_body']);
});

test('absent bodies are legitimate where retention covers them, and damage elsewhere', () => {
  const cutoffMs = firstMs + 5_000 + 34 * 200; // the receipt of event 102, which happened before
  const cover = createBodyCover({ records: [{ cutoffMs, size: 80 }] });
  const rest = lines.slice(90);
  const { counts, findings } = verifyBodies(rest, { cover });
  expect(counts).toMatchObject({ expired: 80, intact: 210 });
  expect(findings.countByCode()).toEqual({ missing_body: 10 });
  expect(findings.first()).toMatchObject({ sequence: 80 });
  const plan = createBodyCover({ planCutoffMs: cutoffMs });
  expect(found(verifyBodies(lines.slice(102), { cover: plan }).findings)).toEqual([]);
  expect(found(verifyBodies(lines.slice(103), { cover: plan }).findings)).toEqual([
    '102 missing_body',
  ]);
});

test('events recorded since the checkpoint are counted apart in a running service', () => {
  const small = checkpointOf(log.slice(0, 290));
  const options = { checkpoint: small, beyondCheckpoint: 'newer' as const };
  const { counts, findings } = verifyBodies(lines, options);
  expect(found(findings)).toEqual([]);
  expect(counts).toMatchObject({ intact: 290, newer: 10 });
});

test('intact bodies are handed on, and no others', () => {
  const seen: number[] = [];
  const damaged = edited(42, '"admin"', '"viewer"');
  verifyBodies(damaged, { onIntact: ({ event }) => seen.push(event.sequence) });
  expect(seen).toEqual(lines.map((_, at) => at).filter((at) => at !== 42));
});

test('an entry of another version than its body is found at its place', () => {
  const versioned = new Uint8Array(entries);
  versioned[12 * 60] = 2;
  const entryAt = (sequence: number) => versioned.subarray(sequence * 60, sequence * 60 + 60);
  expect(found(verifyBodies(lines, { entryAt }).findings)).toEqual(['12 content_mismatch']);
});

test('an empty log passes against a checkpoint of nothing', () => {
  const empty = checkpointOf([]);
  const findings = createFindings();
  const pass = new EntryPass({ sha, findings, checkpoint: empty });
  pass.add(new Uint8Array());
  pass.finish();
  const counts = verifyBodies([], { checkpoint: empty }).counts;
  expect([findings.count(), counts.bodies]).toEqual([0, 0]);
});

import { hash } from 'node:crypto';
import {
  createFrontier,
  decodeEntry,
  type EntryVersion,
  encodeEntry,
  entryBytes,
  leafHash,
  subtreeRoot,
  tileWidth,
} from '@indelible/protocol';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type LogAppend, type LogHead, planAppend } from './sequencer.ts';

const sha = (data: Uint8Array): Uint8Array => hash('sha256', data, 'buffer');
const nowMs = Date.UTC(2026, 5, 1);

const emptyHead: LogHead = {
  tenantId: '0b54a1de-6e0f-4c66-a24c-2c4f6f2c7a11',
  size: 0,
  frontier: new Uint8Array(),
  lastReceivedUs: 0,
  retentionClass: 2,
  otherClasses: [],
};

/** The n-th of any number of different events. */
function eventAt(n: number) {
  const uuid = `01900000-0000-7000-8000-${n.toString(16).padStart(12, '0')}`;
  const version: EntryVersion = n % 3 === 0 ? 2 : 1;
  return { version, uuid, commitment: sha(Buffer.from(uuid)) };
}

const eventsFrom = (first: number, count: number) =>
  Array.from({ length: count }, (_, index) => eventAt(first + index));

const headAfter = ({ head, newSize, frontier, receivedUs }: LogAppend): LogHead => ({
  ...head,
  size: newSize,
  frontier,
  lastReceivedUs: receivedUs,
});

/** A log of this size, as appending leaf by leaf makes it, without the work of its entries. */
function headOfSize(size: number): LogHead {
  const tree = createFrontier(emptyHead, sha);
  for (let n = 0; n < size; n++) tree.append(sha(Buffer.from(String(n))));
  return { ...emptyHead, ...tree.state() };
}

test('sequences go on where the log ends, and each leaf hashes the entry that is written', () => {
  const head = { ...headOfSize(7), lastReceivedUs: 5 };
  const events = eventsFrom(0, 3);
  const { leaves, tail, newSize, receivedUs } = planAppend(sha, head, events, nowMs);
  expect(receivedUs).toBe(nowMs * 1_000);
  expect(newSize).toBe(10);
  expect(leaves.map(({ sequence }) => sequence)).toEqual([7, 8, 9]);
  expect(tail.map(({ sequence }) => sequence)).toEqual([7, 8, 9]);
  for (const [index, { version, uuid, commitment }] of events.entries()) {
    const entry = encodeEntry({ version, receivedAtUs: receivedUs, eventUuid: uuid, commitment });
    expect(tail[index]?.entry).toEqual(entry);
    expect(leaves[index]?.leafHash).toEqual(leafHash(sha, entry));
  }
});

test('however a log is cut into flushes, its frontier, entries and tiles are the same', () => {
  const cuts = fc.array(fc.integer({ min: 0, max: 300 }), { minLength: 1, maxLength: 6 });
  fc.assert(
    fc.property(cuts, (counts) => {
      const total = counts.reduce((sum, count) => sum + count, 0);
      const whole = planAppend(sha, emptyHead, eventsFrom(0, total), nowMs);
      const log = storedLog();
      let head = emptyHead;
      for (const count of counts) {
        const part = planAppend(sha, head, eventsFrom(head.size, count), nowMs);
        log.append(part);
        head = headAfter(part);
      }
      expect({ size: head.size, frontier: Buffer.from(head.frontier) }).toEqual({
        size: total,
        frontier: Buffer.from(whole.frontier),
      });
      const expected = storedLog();
      expected.append(whole);
      expect(log.state()).toEqual(expected.state());
    }),
    { numRuns: 25 },
  );
});

/** What append_events keeps: a completed tile takes its entries out of the tail. */
function storedLog() {
  const tail = new Map<number, Buffer>();
  const tiles: { level: number; index: number; hash: string; data: string }[] = [];
  return {
    append(part: LogAppend) {
      for (const { level, index, hash, rest } of part.tiles) {
        const moved: Buffer[] = [];
        for (let n = index * tileWidth; level === 0 && n < (index + 1) * tileWidth; n++) {
          moved.push(tail.get(n) ?? Buffer.of());
          tail.delete(n);
        }
        const data = Buffer.concat([...moved, rest]).toString('hex');
        tiles.push({ level, index, hash: Buffer.from(hash).toString('hex'), data });
      }
      for (const { sequence, entry } of part.tail) tail.set(sequence, Buffer.from(entry));
    },
    state: () => ({ tail: [...tail], tiles }),
  };
}

test('a tile completes at its 256th entry and brings what the tail does not hold yet', () => {
  const first = planAppend(sha, emptyHead, eventsFrom(0, 250), nowMs);
  expect(first.tiles).toEqual([]);
  const second = planAppend(sha, headAfter(first), eventsFrom(250, 10), nowMs);
  expect(second.tiles.map(({ level, index }) => ({ level, index }))).toEqual([
    { level: 0, index: 0 },
  ]);
  expect(second.tiles[0]?.rest.length).toBe(6 * entryBytes);
  expect(second.tail.map(({ sequence }) => sequence)).toEqual([256, 257, 258, 259]);
  const leaves = [...first.leaves, ...second.leaves].slice(0, 256).map((leaf) => leaf.leafHash);
  expect(second.tiles[0]?.hash).toEqual(subtreeRoot(sha, leaves));
});

test('one flush may complete several tiles, lower levels first, and the tail begins after them', () => {
  const head = headOfSize(tileWidth * tileWidth - 300);
  const { tiles, tail } = planAppend(sha, head, eventsFrom(0, 310), nowMs);
  expect(tiles.map(({ level, index }) => [level, index])).toEqual([
    [0, 254],
    [0, 255],
    [1, 0],
  ]);
  expect(tiles.map(({ rest }) => rest.length / entryBytes)).toEqual([44, 256, 0]);
  expect(tail.map(({ sequence }) => sequence)).toEqual(
    Array.from({ length: 10 }, (_, n) => tileWidth * tileWidth + n),
  );
});

test('receive times never go back, though the clock does', () => {
  const first = planAppend(sha, emptyHead, eventsFrom(0, 1), nowMs);
  const second = planAppend(sha, headAfter(first), eventsFrom(1, 1), nowMs - 60_000);
  expect(second.receivedUs).toBe(first.receivedUs);
  expect(decodeEntry(second.tail[0]?.entry ?? Buffer.of()).receivedAtUs).toBe(nowMs * 1_000);
  const third = planAppend(sha, headAfter(second), eventsFrom(2, 1), nowMs + 1);
  expect(third.receivedUs).toBe(nowMs * 1_000 + 1_000);
});

test('appending nothing changes nothing', () => {
  const head = headOfSize(300);
  const { newSize, frontier, leaves, tail, tiles } = planAppend(sha, head, [], nowMs);
  expect({ newSize, leaves, tail, tiles }).toEqual({
    newSize: 300,
    leaves: [],
    tail: [],
    tiles: [],
  });
  expect(frontier).toEqual(head.frontier);
});

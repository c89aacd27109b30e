import { hash } from 'node:crypto';
import {
  actorAddress,
  type CommittedEvent,
  commitmentOfHashes,
  decodeEntry,
  entryBytes,
  eventIdFromUuid,
  personIds,
  saltBytes,
  segmentHash,
  segmentNames,
  segmentTexts,
  uuidTimeMs,
} from '@indelible/protocol';
import { expect } from 'vitest';
import { type History, leafHashOf } from './one-history.ts';
import type { TestService } from './service.ts';

/* Computes the tree again, directly from RFC 6962 section 2.1, deliberately in the slow way. */

const sha = (data: Uint8Array): Buffer => hash('sha256', data, 'buffer');
const width = 256;

/** MTH(D[n]): splits at the largest power of two below n. */
export function naiveRoot(leaves: readonly Buffer[]): Buffer {
  const [only] = leaves;
  if (!only) return sha(Buffer.alloc(0));
  if (leaves.length === 1) return only;
  let split = 1;
  while (split * 2 < leaves.length) split *= 2;
  const children = [naiveRoot(leaves.slice(0, split)), naiveRoot(leaves.slice(split))];
  return sha(Buffer.concat([Buffer.of(1), ...children]));
}

/** Roots of the complete subtrees that make up the log, largest first. */
function naiveFrontier(leaves: readonly Buffer[]): Buffer {
  const roots: Buffer[] = [];
  let start = 0;
  for (let size = 2 ** 30; size >= 1; size /= 2) {
    if (leaves.length - start < size) continue;
    roots.push(naiveRoot(leaves.slice(start, start + size)));
    start += size;
  }
  return Buffer.concat(roots);
}

interface Head {
  size: number;
  frontier: Buffer;
  lastReceivedUs: number;
  classes: number[];
}

interface Tile {
  level: number;
  index: number;
  hash: Buffer;
  data: Buffer;
}

interface EventRow extends CommittedEvent {
  sequence: number;
  receivedAtUs: number;
  retentionClass: number;
  actorEmailKey: string;
  salts: Buffer;
  /** Hashes of erased segments by name. */
  erased: Record<string, string> | null;
}

/**
 * Checks everything stored of a tenant's log: head, tail and tiles give exactly `size` entries with
 * the hashes of the tree, and every entry commits to the stored event at its sequence. Reads with
 * the owner's rights; for logs without removed events.
 */
export async function expectLogIntact(
  service: Pick<TestService, 'owner'>,
  tenantId: string,
): Promise<void> {
  await inSnapshot(service.owner, async (owner) => {
    const head = await readHead(owner, tenantId);
    expectEvents(head, await treeEntries(owner, tenantId, head), await readEvents(owner, tenantId));
  });
}

/**
 * The same for a log with removed events: the remaining ones are those that were logged, and a
 * record in the log covers the missing ones. Returns the sequences without an event.
 */
export async function expectRetainedIntact(
  service: Pick<TestService, 'owner'>,
  tenantId: string,
): Promise<number[]> {
  const absent: number[] = [];
  await inSnapshot(service.owner, async (owner) => {
    const head = await readHead(owner, tenantId);
    const entries = await treeEntries(owner, tenantId, head);
    const events = await readEvents(owner, tenantId);
    expectCommitted(head, entries, events);
    const there = new Set(events.map(({ sequence }) => sequence));
    absent.push(...[...entries.keys()].filter((sequence) => !there.has(sequence)));
    const uncovered = absent.filter((at) => !isCovered(at, entries[at], events));
    expect(uncovered, 'sequences without an event or a record').toEqual([]);
  });
  return absent;
}

function isCovered(at: number, entry: Buffer | undefined, events: readonly EventRow[]): boolean {
  const { eventUuid } = decodeEntry(entry ?? Buffer.of());
  return events.some((event) => {
    if (event.recordedByKind !== 'service' || event.resourceType !== 'retention') return false;
    const { cutoff, size } = JSON.parse(event.after ?? '{}');
    expect(size, 'a record reaches no further than itself').toBeLessThanOrEqual(event.sequence);
    return at < size && uuidTimeMs(eventUuid) < Date.parse(cutoff);
  });
}

/** The part of `expectLogIntact` that needs no events, because retention may remove them. */
export async function expectTreeIntact(
  service: Pick<TestService, 'owner'>,
  tenantId: string,
): Promise<void> {
  await inSnapshot(service.owner, async (owner) => {
    await treeEntries(owner, tenantId, await readHead(owner, tenantId));
  });
}

/** Root of the tree over a log's stored entries, after checking them. */
export async function rootStored(
  service: Pick<TestService, 'owner'>,
  tenantId: string,
): Promise<Buffer> {
  let root: Buffer = Buffer.alloc(0);
  await inSnapshot(service.owner, async (owner) => {
    const entries = await treeEntries(owner, tenantId, await readHead(owner, tenantId));
    root = naiveRoot(entries.map(leafHashOf));
  });
  return root;
}

/** The leaves of every log in a database. */
export async function storedHistories(owner: Owner): Promise<History[]> {
  return (await storedLogs(owner, null)).map((entries) => entries.map(leafHashOf));
}

/** The entries of a log, unchecked. */
export async function storedEntries(
  { owner }: Pick<TestService, 'owner'>,
  tenantId: string,
): Promise<Buffer[]> {
  return (await storedLogs(owner, tenantId)).flat();
}

/** The entries of every log in a database, or of one, from tiles and tail. */
async function storedLogs(owner: Owner, tenantId: string | null): Promise<Buffer[][]> {
  const { rows } = await owner.query<{ entries: Buffer }>(
    `SELECT coalesce((SELECT string_agg(data, '' ORDER BY index) FROM log_tiles t
        WHERE t.tenant_id = h.tenant_id AND level = 0), '')
      || coalesce((SELECT string_agg(entry, '' ORDER BY sequence) FROM log_tail t
        WHERE t.tenant_id = h.tenant_id), '') AS entries
     FROM log_heads h WHERE $1::uuid IS NULL OR tenant_id = $1`,
    [tenantId],
  );
  return rows.map(({ entries }) => entriesOf(entries));
}

type Owner = TestService['owner'];

// A log may grow meanwhile: all reads must see one size.
async function inSnapshot(owner: Owner, check: (owner: Owner) => Promise<void>): Promise<void> {
  await owner.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
  await check(owner).finally(() => owner.query('COMMIT'));
}

/** The entries of the log in order, after checking the tree. */
async function treeEntries(owner: Owner, tenantId: string, head: Head): Promise<Buffer[]> {
  const tiles = await readTiles(owner, tenantId);
  const entries = [
    ...tiles.filter(({ level }) => level === 0).flatMap(tileEntries),
    ...(await readTail(owner, tenantId, head.size)),
  ];
  expect(entries.length, 'entries of tiles and tail').toBe(head.size);
  const leaves = entries.map(leafHashOf);
  expect(head.frontier, 'the frontier').toEqual(naiveFrontier(leaves));
  expectTiles(tiles, leaves);
  return entries;
}

async function readHead(owner: Owner, tenantId: string): Promise<Head> {
  const { rows } = await owner.query<Head>(
    `SELECT size::float8, frontier, last_received_us::float8 AS "lastReceivedUs",
       other_classes || retention_class AS classes
     FROM log_heads WHERE tenant_id = $1`,
    [tenantId],
  );
  const [head] = rows;
  if (!head) throw new Error(`the tenant ${tenantId} has no log`);
  return head;
}

async function readTiles(owner: Owner, tenantId: string): Promise<Tile[]> {
  const { rows } = await owner.query<Tile>(
    `SELECT level, index::float8, hash, data FROM log_tiles
     WHERE tenant_id = $1 ORDER BY level, index`,
    [tenantId],
  );
  return rows;
}

/** The entries after the last complete tile, and no others. */
async function readTail(owner: Owner, tenantId: string, size: number): Promise<Buffer[]> {
  const { rows } = await owner.query<{ sequence: number; entry: Buffer }>(
    'SELECT sequence::float8, entry FROM log_tail WHERE tenant_id = $1 ORDER BY sequence',
    [tenantId],
  );
  const first = size - (size % width);
  const expected = Array.from({ length: size % width }, (_, offset) => first + offset);
  expect(
    rows.map(({ sequence }) => sequence),
    'sequences of the tail',
  ).toEqual(expected);
  return rows.map(({ entry }) => entry);
}

function tileEntries({ data }: Tile): Buffer[] {
  expect(data.length, 'bytes of an entry tile').toBe(width * entryBytes);
  return entriesOf(data);
}

function entriesOf(data: Buffer): Buffer[] {
  return Array.from({ length: data.length / entryBytes }, (_, at) =>
    data.subarray(at * entryBytes, (at + 1) * entryBytes),
  );
}

/** Every complete tile of every level exists, no other one, with the right content. */
function expectTiles(tiles: readonly Tile[], leaves: readonly Buffer[]): void {
  let below = leaves;
  let found = 0;
  for (let level = 0; below.length >= width; level++) {
    const complete = Math.floor(below.length / width);
    const own = tiles.filter((tile) => tile.level === level);
    expect(
      own.map(({ index }) => index),
      `tiles of level ${level}`,
    ).toEqual([...Array(complete).keys()]);
    const parts = own.map(({ index }) => below.slice(index * width, (index + 1) * width));
    expect(
      own.map(({ hash }) => hash),
      `roots of level ${level}`,
    ).toEqual(parts.map(naiveRoot));
    if (level > 0) expect(own.map(({ data }) => data)).toEqual(parts.map((p) => Buffer.concat(p)));
    found += complete;
    below = own.map(({ hash }) => hash);
  }
  expect(tiles.length, 'number of tiles').toBe(found);
}

async function readEvents(owner: Owner, tenantId: string): Promise<EventRow[]> {
  const { rows } = await owner.query<EventRow>(
    `SELECT tenant_id AS "tenantId", id AS uuid, sequence::float8, retention_class AS "retentionClass",
       (extract(epoch FROM received_at) * 1000000)::float8 AS "receivedAtUs",
       actor_id AS "actorId", actor_email AS "actorEmail", actor_email_key AS "actorEmailKey",
       actor_role AS "actorRole", actor_ip AS "actorIp", actor_user_agent AS "actorUserAgent",
       action, resource_type AS "resourceType", resource_id AS "resourceId",
       resource_name AS "resourceName", diff::text, cross_tenant AS "crossTenant", reason, category,
       recorded_by_kind AS "recordedByKind", recorded_by_id AS "recordedById",
       before::text, after::text, context::text, context_identity::text AS "contextIdentity", salts,
       erased
     FROM audit_events WHERE tenant_id = $1 ORDER BY sequence`,
    [tenantId],
  );
  return rows;
}

function expectEvents(head: Head, entries: readonly Buffer[], events: readonly EventRow[]): void {
  expect(
    events.map(({ sequence }) => sequence),
    'sequences of the events',
  ).toEqual([...entries.keys()]);
  expectCommitted(head, entries, events);
}

function expectCommitted(
  head: Head,
  entries: readonly Buffer[],
  events: readonly EventRow[],
): void {
  // One assertion for all events: making one takes longer than hashing an event.
  const entriesOfEvents = events.map(({ sequence }) => {
    const entry = decodeEntry(entries[sequence] ?? Buffer.of());
    return [sequence, entry.eventUuid, entry.receivedAtUs, entry.version, hex(entry.commitment)];
  });
  const stored = events.map((event) => {
    const hasContext = event.context !== null || event.erased?.context !== undefined;
    const version = hasContext ? 2 : 1;
    return [event.sequence, event.uuid, event.receivedAtUs, version, hex(committedTo(event))];
  });
  const lines = (facts: unknown[][]) => facts.map((each) => each.join(' '));
  expect(lines(stored), 'events as their entries have them').toEqual(lines(entriesOfEvents));
  const times = events.map(({ receivedAtUs }) => receivedAtUs);
  expect(times, 'receive times').toEqual(times.toSorted((one, other) => one - other));
  const classes = new Set(events.map(({ retentionClass }) => retentionClass));
  expect(head.classes, 'retention classes').toEqual(expect.arrayContaining([...classes]));
  const misfiled = events.filter((event) => event.actorEmailKey !== actorAddress(event));
  expect(misfiled, 'events under another address').toEqual([]);
  for (const event of events.filter(({ erased }) => erased !== null)) expectErased(event, events);
  const last = entries.at(-1);
  const newestUs = last ? decodeEntry(last).receivedAtUs : 0;
  expect(head.lastReceivedUs, 'last receive time of the head').toBe(newestUs);
}

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');

function committedTo(event: EventRow): Uint8Array {
  const texts = segmentTexts(event);
  let at = 0;
  const hashes = segmentNames.map((name, index) => {
    const erased = event.erased?.[name];
    const text = texts[index] ?? null;
    if (erased === undefined && text === null) return null;
    const salt = event.salts.subarray(at, at + saltBytes);
    at += saltBytes;
    if (erased === undefined) return segmentHash(sha, index, salt, text ?? '');
    expect(salt, `salt of the erased ${name}`).toEqual(Buffer.alloc(saltBytes));
    return Buffer.from(erased, 'hex');
  });
  if (event.salts.length !== at) throw new Error(`salts that no segment has at ${event.sequence}`);
  return commitmentOfHashes(sha, hashes);
}

/** Erased values are empty, and a later record in the log says so. */
function expectErased(event: EventRow, events: readonly EventRow[]): void {
  for (const name of Object.keys(event.erased ?? {})) {
    const left = {
      change: [event.diff === '{}' ? null : event.diff, event.reason],
      context: [event.context],
      identity: [
        ...[event.actorEmail, event.actorIp, event.actorUserAgent, event.resourceName],
        event.contextIdentity,
      ],
      state: [event.before, event.after],
    }[name];
    expect(new Set(left), `the erased ${name} at ${event.sequence}`).toEqual(new Set([null]));
    const isRecorded = events.some((record) => {
      if (record.recordedByKind !== 'service' || record.action !== 'erase') return false;
      const { segment, actors, events: ids, size } = JSON.parse(record.after ?? '{}');
      expect(size, 'a record reaches no further than itself').toBeLessThanOrEqual(record.sequence);
      const isPerson = personIds(event).some((id) => actors.includes(id));
      const isNamed = isPerson && event.actorRole !== 'superadmin';
      const isMeant = isNamed || ids.includes(eventIdFromUuid(event.uuid));
      return segment === name && event.sequence < size && isMeant;
    });
    expect(isRecorded, `a record of the erasure at ${event.sequence}`).toBe(true);
  }
}

import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { closeSync, mkdirSync, openSync, readFileSync, writeFileSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';
import {
  createFrontier,
  createTileMaker,
  emptyLogState,
  encodeEntry,
  formatCheckpoint,
  formatEntryTile,
  formatNote,
  formatTimestamp,
  formatVerifierKey,
  leafHash,
  noteKeyId,
  tilePath,
  tileWidth,
} from '@indelible/protocol';
import { taken } from '../packages/protocol/src/testing/take-context.ts';
import { bodyLine } from '../packages/server/src/archive/body-line.ts';
import { sha } from '../packages/server/src/crypto/sha256.ts';
import { openersOf, prepare } from '../packages/server/src/events/prepared-event.ts';
import { benchEvent } from './events.ts';

const origin = 'bench.example.com/l/00112233445566778899aabbccddeeff';
const tenantId = '0199c0de-4b1e-7a55-8d37-6c2f90ab1e24';

/** Writes a bundle of that many events as the service would have logged them; returns its bytes. */
export function writeSyntheticBundle(folder: string, count: number): number {
  const write = writer(folder);
  const maker = createTileMaker((level, index, width, bytes) =>
    write(tilePath(level, index, width), bytes),
  );
  const tree = createFrontier(emptyLogState, sha, maker.onSubtree);
  mkdirSync(folder, { recursive: true });
  const events = openSync(join(folder, 'events.ndjson'), 'w');
  const startMs = Date.now() - count * 1_000;
  for (let first = 0; first < count; first += tileWidth) {
    const width = Math.min(tileWidth, count - first);
    const recorded = Array.from({ length: width }, (_, n) => recordedEvent(first + n, startMs));
    const entries = Buffer.concat(recorded.map(({ entry }) => entry));
    write(tilePath('entries', first / tileWidth, width), formatEntryTile(entries));
    for (const { entry } of recorded) tree.append(leafHash(sha, entry));
    writeSync(events, recorded.map(({ line }) => line).join(''));
  }
  closeSync(events);
  maker.finish();
  writeSigned(write, count, tree.root());
  return writeManifest(folder, write, count);
}

type Write = (name: string, content: string | Uint8Array) => void;

function writer(folder: string): Write & { written: Map<string, string> } {
  const written = new Map<string, string>();
  const write: Write = (name, content) => {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), content);
    written.set(name, createHash('sha256').update(content).digest('hex'));
  };
  return Object.assign(write, { written });
}

const keys = generateKeyPairSync('ed25519');
const publicKey = new Uint8Array(
  keys.publicKey.export({ type: 'spki', format: 'der' }).subarray(-32),
);

function writeSigned(write: Write, size: number, root: Uint8Array): void {
  const text = formatCheckpoint({ origin, size, root });
  const signature = new Uint8Array(sign(null, Buffer.from(text), keys.privateKey));
  const keyId = noteKeyId(sha, origin, publicKey);
  write('checkpoint', formatNote(text, [{ name: origin, keyId, signature }]));
  const vkey = formatVerifierKey(sha, origin, publicKey);
  write('indelible-log.json', JSON.stringify({ origin, keys: [{ vkey }] }));
  write('retention.json', '[]');
}

function writeManifest(folder: string, write: ReturnType<typeof writer>, size: number): number {
  const events = readFileSync(join(folder, 'events.ndjson'));
  const { written } = write;
  written.set('events.ndjson', createHash('sha256').update(events).digest('hex'));
  const sums = [...written].map(([name, digest]) => `${digest}  ${name}\n`).join('');
  const sha256 = Object.fromEntries([...written].filter(([name]) => !name.startsWith('tile/')));
  write('SHA256SUMS', sums);
  sha256.SHA256SUMS = written.get('SHA256SUMS') ?? '';
  const manifest = {
    format: 'indelible-bundle/v1',
    tenantId,
    origin,
    size,
    madeAt: new Date().toISOString(),
    filter: {},
    range: { from: null, to: null },
    withheld: [],
    plan: null,
    cutoff: null,
    counts: { entries: size, events: size },
    sha256,
  };
  write('manifest.json', JSON.stringify(manifest));
  return events.length;
}

/** An event as the service stores it: its entry in the log, and its line in a bundle. */
function recordedEvent(sequence: number, startMs: number) {
  const timeMs = startMs + sequence * 1_000;
  const sent = { ...benchEvent(tenantId), timestamp: formatTimestamp(timeMs) };
  const { event } = taken(sent, { nowMs: timeMs, boundTenantId: null });
  const { version, salts, commitment } = prepare(event, sha, randomBytes);
  const { uuid, context } = event;
  const receivedAtUs = (timeMs + 5) * 1_000;
  const body = { event, ...openersOf({ salts, erased: null, context }) };
  const row = { version, sequence, uuid, receivedAtUs, body, commitment: null };
  const entry = encodeEntry({ version, receivedAtUs, eventUuid: uuid, commitment });
  return { entry, line: `${bodyLine(row)}\n` };
}

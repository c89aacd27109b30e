import { createHash, generateKeyPairSync, hash, randomBytes, sign } from 'node:crypto';
import { closeSync, mkdirSync, openSync, readFileSync, writeFileSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';
import {
  type CommittedEvent,
  canonicalize,
  commitmentOf,
  createFrontier,
  createTileMaker,
  emptyLogState,
  encodeEntry,
  eventIdFromUuid,
  eventUuid,
  formatCheckpoint,
  formatEntryTile,
  formatHex,
  formatNote,
  formatTimestamp,
  formatVerifierKey,
  leafHash,
  noteKeyId,
  saltBytes,
  saltsLength,
  segmentTexts,
  tilePath,
  tileWidth,
  uuidTimeMs,
} from '../packages/protocol/src/index.ts';
import { benchEvent } from './events.ts';

const sha = (bytes: Uint8Array): Uint8Array => hash('sha256', bytes, 'buffer');
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

interface BenchInput {
  actor: { id: string; email: string; role: string; ip: string; userAgent: string };
  action: string;
  resource: { type: string; id: string; name: string };
  diff: Parameters<typeof canonicalize>[0];
}

const categories: Record<string, string> = {
  access: 'data_access',
  login: 'security',
  push: 'integration',
};

/** One event as the service stores it, its entry in the log, and its line in a bundle. */
function recordedEvent(sequence: number, startMs: number) {
  const { actor, action, resource, diff } = benchEvent(tenantId) as BenchInput;
  const timeMs = startMs + sequence * 1_000;
  const event: CommittedEvent = {
    tenantId,
    uuid: eventUuid(timeMs, randomBytes(10)),
    actorId: actor.id,
    actorEmail: actor.email,
    actorRole: actor.role,
    actorIp: actor.ip,
    actorUserAgent: actor.userAgent,
    action,
    resourceType: resource.type,
    resourceId: resource.id,
    resourceName: resource.name,
    diff: canonicalize(diff),
    crossTenant: false,
    reason: null,
    category: categories[action] ?? 'configuration',
    recordedByKind: 'api_key',
    recordedById: '01990f12-94a0-759e-b499-9ad476cc148b',
    before: null,
    after: null,
    context: null,
    contextIdentity: null,
  };
  const texts = segmentTexts(event);
  const salts = randomBytes(saltsLength(texts));
  const commitment = commitmentOf(sha, texts, salts);
  const entry = encodeEntry({
    version: 1,
    receivedAtUs: (timeMs + 5) * 1_000,
    eventUuid: event.uuid,
    commitment,
  });
  return { entry, line: `${bodyLine(event, sequence, timeMs + 5, salts)}\n` };
}

function bodyLine(e: CommittedEvent, sequence: number, receivedAtMs: number, salts: Uint8Array) {
  const event = {
    id: eventIdFromUuid(e.uuid),
    timestamp: formatTimestamp(uuidTimeMs(e.uuid)),
    tenantId: e.tenantId,
    actor: {
      id: e.actorId,
      email: e.actorEmail,
      role: e.actorRole,
      ip: e.actorIp,
      userAgent: e.actorUserAgent,
    },
    action: e.action,
    resource: { type: e.resourceType, id: e.resourceId, name: e.resourceName },
    diff: JSON.parse(e.diff),
    crossTenant: e.crossTenant,
    reason: e.reason,
    before: null,
    after: null,
    category: e.category,
    hasState: false,
    sequence,
    receivedAt: formatTimestamp(receivedAtMs),
    recordedBy: { kind: e.recordedByKind, id: e.recordedById },
  };
  const hex = (index: number) =>
    formatHex(salts.subarray(index * saltBytes, (index + 1) * saltBytes));
  const names = ['change', 'event', 'identity'];
  return JSON.stringify({ event, salts: Object.fromEntries(names.map((n, i) => [n, hex(i)])) });
}

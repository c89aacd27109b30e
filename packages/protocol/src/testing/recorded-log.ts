import { createPublicKey, generateKeyPairSync, hash, type KeyObject, sign } from 'node:crypto';
import { commitmentOf, saltBytes, saltsLength } from '../event/commitment.ts';
import { type CommittedEvent, segmentNames } from '../event/event-fields.ts';
import { eventUuid } from '../event/event-id.ts';
import { eventText, segmentTexts } from '../event/event-texts.ts';
import { formatReceivedAt } from '../event/timestamp.ts';
import type { JsonObject } from '../json/canonical.ts';
import { formatHex } from '../log/bytes.ts';
import { formatCheckpoint } from '../log/checkpoint.ts';
import { encodeEntry, entryBytes } from '../log/entry.ts';
import {
  createFrontier,
  emptyLogState,
  leafHash,
  type Sha256,
  subtreeRoot,
} from '../log/merkle.ts';
import { inclusionProof } from '../log/merkle-proofs.ts';
import { formatNote, formatVerifierKey, noteKeyId } from '../log/signed-note.ts';
import type { Findings } from '../verify/findings.ts';

/* A small service for tests: records events into a log and shows them as the API does. */

/** One-shot hashing, by way of a string: Node makes one in half the time of a Buffer. */
export const sha: Sha256 = (data) => {
  const digest = hash('sha256', data, 'binary');
  const bytes = new Uint8Array(32);
  for (let at = 0; at < 32; at += 1) bytes[at] = digest.charCodeAt(at);
  return bytes;
};

export const origin = 'audit.example.com/l/00112233445566778899aabbccddeeff';
export const tenantId = '0199c0de-4b1e-7a55-8d37-6c2f90ab1e24';
export const firstMs = Date.UTC(2025, 8, 3, 10, 16);
const logKey = newKey();
export const vkeys = [vkeyOf(origin, logKey)];

export function newKey(): KeyObject {
  return generateKeyPairSync('ed25519').privateKey;
}

export function vkeyOf(name: string, key: KeyObject): string {
  return formatVerifierKey(sha, name, publicKeyOf(key));
}

function publicKeyOf(key: KeyObject): Uint8Array {
  const spki = createPublicKey(key).export({ type: 'spki', format: 'der' });
  return new Uint8Array(spki.subarray(-32)); // RFC 8410: the key ends the structure
}

/** A note over `text`, signed under the name given. */
export function signedNote(text: string, name = origin, key = logKey): string {
  const signature = new Uint8Array(sign(null, Buffer.from(text), key));
  return formatNote(text, [{ name, keyId: noteKeyId(sha, name, publicKeyOf(key)), signature }]);
}

export interface RecordedEvent {
  event: CommittedEvent;
  sequence: number;
  receivedAtUs: number;
  salts: Uint8Array;
  entry: Uint8Array;
  leaf: Uint8Array;
}

/** The event number `index` of a dull tenant, `changes` apart. */
export function plainEvent(index: number, changes: Partial<CommittedEvent> = {}): CommittedEvent {
  const random = sha(new TextEncoder().encode(`random ${index}`));
  return {
    tenantId,
    uuid: eventUuid(firstMs + index * 61, random),
    actorId: '7f9c2ba4-e88f-4a1b-9c3d-1f2e3d4c5b6a',
    actorEmail: `ana.${index % 17}@example.com`,
    actorRole: 'admin',
    actorIp: '203.0.113.7',
    actorUserAgent: 'Mozilla/5.0 (X11; Linux x86_64; rv:142.0) Gecko/20100101 Firefox/142.0',
    action: 'update',
    resourceType: 'queue',
    resourceId: '0b54a1de-6e0f-4c66-a24c-2c4f6f2c7a11',
    resourceName: 'Sales',
    diff: `{"maxWaitSeconds":{"from":${index},"to":60}}`,
    crossTenant: false,
    reason: null,
    category: 'configuration',
    recordedByKind: 'api_key',
    recordedById: '01990f12-94a0-759e-b499-9ad476cc148b',
    before: null,
    after: null,
    context: null,
    contextIdentity: null,
    ...changes,
  };
}

/** What an event of version 2 can have, all of it. */
export const everyContext = {
  actor: { type: 'agent', name: 'Assistant', externalId: 'bot_7' },
  outcome: 'denied',
  resource: { externalId: 'queue-77' },
  correlationId: 'req-1',
  traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
  onBehalfOf: [
    {
      id: '0e4b7a36-52f4-4f0f-8f5e-7d1f5c3b2a19',
      externalId: 'user_123',
      email: 'ana@example.com',
      name: 'Ana',
      type: 'user',
      role: 'Org Owner',
    },
    { id: '11111111-2222-4333-8444-555555555555' },
  ],
  via: { channel: 'mcp', clientId: 'desk', tool: 'update_queue', sessionId: 's-1' },
  targets: [
    { type: 'ivr', id: 'c2d1f3a4-6b5e-4c7d-8e9f-1a2b3c4d5e6f' },
    { type: 'did', id: '22222222-2222-4333-8444-555555555555', externalId: '+1', name: 'Main' },
  ],
  metadata: { region: 'eu', attempt: 2, dry: false, note: null },
  source: { id: 'app-1', sequence: 7 },
  asSent: { '/actor/ip': '203.0.113.7:51234' },
} as const satisfies JsonObject;

/** Records events in order, a flush of three at a time, as the service does. */
export function record(events: readonly CommittedEvent[]): RecordedEvent[] {
  return events.map((event, sequence) => {
    const texts = segmentTexts(event);
    const salts = new Uint8Array(saltsLength(texts));
    for (let at = 0; at < salts.length; at += 32) {
      salts.set(sha(Uint8Array.of(sequence >> 8, sequence, at)).subarray(0, salts.length - at), at);
    }
    const commitment = commitmentOf(sha, texts, salts);
    const receivedAtUs = (firstMs + 5_000 + Math.floor(sequence / 3) * 200) * 1_000;
    const version = event.context === null ? 1 : 2;
    const entry = encodeEntry({ version, receivedAtUs, eventUuid: event.uuid, commitment });
    return { event, sequence, receivedAtUs, salts, entry, leaf: leafHash(sha, entry) };
  });
}

/** A log of `count` plain events. */
export function recordPlain(count: number): RecordedEvent[] {
  return record(Array.from({ length: count }, (_, index) => plainEvent(index)));
}

export function rootOf(log: readonly RecordedEvent[]): Uint8Array {
  const tree = createFrontier(emptyLogState, sha);
  for (const { leaf } of log) tree.append(leaf);
  return tree.root();
}

export function entriesOf(log: readonly RecordedEvent[]): Uint8Array {
  const bytes = new Uint8Array(log.length * entryBytes);
  for (const [index, { entry }] of log.entries()) bytes.set(entry, index * entryBytes);
  return bytes;
}

export function checkpointOf(log: readonly RecordedEvent[]) {
  return { origin, size: log.length, root: rootOf(log) };
}

export function checkpointNote(log: readonly RecordedEvent[]): string {
  return signedNote(formatCheckpoint(checkpointOf(log)));
}

/** The JSON text of the single read, with its members in another order than the service's. */
export function eventJson(recorded: RecordedEvent): string {
  const members = Object.entries(JSON.parse(shownText(recorded)));
  return JSON.stringify(Object.fromEntries(members.reverse()));
}

/** The event as the service writes it. */
function shownText({ event, sequence, receivedAtUs }: RecordedEvent): string {
  const stored = { ...event, sequence, receivedAtMs: Math.floor(receivedAtUs / 1_000) };
  return eventText(stored, true, event.before !== null || event.after !== null);
}

function saltsJson({ event, salts }: RecordedEvent): string {
  const texts = segmentTexts(event);
  const names = segmentNames.filter((_, index) => texts[index] !== null);
  const hex = (index: number) =>
    formatHex(salts.subarray(index * saltBytes).subarray(0, saltBytes));
  return JSON.stringify(Object.fromEntries(names.map((name, index) => [name, hex(index)])));
}

export function bodyLine(recorded: RecordedEvent): string {
  return `{"event":${eventJson(recorded)},"salts":${saltsJson(recorded)}}`;
}

/** The line as the service writes it. */
export function serviceLine(recorded: RecordedEvent): string {
  return `{"event":${shownText(recorded)},"salts":${saltsJson(recorded)}}`;
}

/** The answer of the proof call, for an event of the log. */
export async function proofJson(log: readonly RecordedEvent[], recorded: RecordedEvent) {
  const leaves = log.map(({ leaf }) => leaf);
  const getNode = async (level: number, index: number) =>
    subtreeRoot(sha, leaves.slice(index * 2 ** level, (index + 1) * 2 ** level));
  const path = await inclusionProof(sha, getNode, recorded.sequence, log.length);
  const rest = JSON.stringify({
    receivedAt: formatReceivedAt(recorded.receivedAtUs),
    commitment: formatHex(recorded.entry.subarray(28)),
    leafHash: formatHex(recorded.leaf),
    sequence: recorded.sequence,
    checkpoint: checkpointNote(log),
    path: path.map(formatHex),
  });
  return `${bodyLine(recorded).slice(0, -1)},${rest.slice(1)}`;
}

/** Codes and places of what was found, in order of place. */
export const found = (findings: Findings) =>
  findings
    .kept()
    .map(({ code, sequence }) => `${sequence} ${code}`)
    .sort();

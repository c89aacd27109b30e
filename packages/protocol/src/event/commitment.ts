import type { Sha256 } from '../log/merkle.ts';
import { segmentNames } from './event-fields.ts';

export const saltBytes = 16;

/** The bytes of the salts of an event with these texts: one for each segment that it has. */
export function saltsLength(texts: readonly (string | null)[]): number {
  return saltBytes * texts.filter((text) => text !== null).length;
}

const utf8 = new TextEncoder();
const segmentPrefixes = segmentNames.map((name) =>
  utf8.encode(`audit-seg/v1\n${String.fromCharCode(name.length)}${name}`),
);
const contentPrefix = utf8.encode('audit-content/v1\n');
const namePrefixes = segmentNames.map((name) =>
  utf8.encode(`${String.fromCharCode(name.length)}${name}`),
);

const saltPrefix = utf8.encode('audit-salt/v1\n');

/**
 * The salt of the segment `event`: the first 16 bytes of `H("audit-salt/v1\n" ‖ salt of change)`.
 * So an archive need not hold it. It tells nothing about the salt of `change`, which may be erased;
 * the segment `event` never is.
 */
export function eventSalt(sha: Sha256, changeSalt: Uint8Array): Uint8Array {
  return saltDigest(sha, changeSalt).slice(0, saltBytes);
}

/**
 * Fills in the salt of `event` in the random salts of an event with these texts, which begin with
 * the salt of `change`.
 */
export function deriveEventSalt(
  sha: Sha256,
  texts: readonly (string | null)[],
  salts: Uint8Array,
): void {
  const behind = texts[1] === null ? saltBytes : 2 * saltBytes;
  const digest = saltDigest(sha, salts);
  for (let at = 0; at < saltBytes; at++) salts[behind + at] = digest[at] ?? 0;
}

function saltDigest(sha: Sha256, changeSalt: Uint8Array): Uint8Array {
  scratch.set(saltPrefix);
  putSalt(saltPrefix.length, changeSalt, 0);
  return sha(scratched(saltPrefix.length + saltBytes));
}

// One buffer for all hashing: allocating one per segment takes as long as the hash.
let scratch = new Uint8Array(4096);
/* Views of it, made once: making one takes a third of the time of a hash. */
let beginnings: Uint8Array[] = []; // by the number of bytes
let ends: Uint8Array[] = []; // by the first byte

function scratched(length: number): Uint8Array {
  if (length > 4096) return scratch.subarray(0, length);
  const known = beginnings[length];
  if (known) return known;
  const made = scratch.subarray(0, length);
  beginnings[length] = made;
  return made;
}

// Byte by byte, because a view of a small array moves it out of the heap.
function putSalt(offset: number, salts: Uint8Array, from: number): void {
  for (let at = 0; at < saltBytes; at++) scratch[offset + at] = salts[from + at] ?? 0;
}

/**
 * `H("audit-seg/v1\n" ‖ u8 len ‖ name ‖ salt ‖ text)` for the segment at this index of
 * `segmentNames`; its salt is the 16 bytes of `salts` at `from`.
 */
export function segmentHash(
  sha: Sha256,
  index: number,
  salts: Uint8Array,
  text: string,
  from = 0,
): Uint8Array {
  const prefix = segmentPrefixes[index];
  if (!prefix) throw new RangeError('no such segment');
  const head = prefix.length + saltBytes;
  // UTF-8 takes at most three bytes per UTF-16 unit; the unused rest is cut off below.
  const bytesMax = head + text.length * 3;
  if (scratch.length < bytesMax) {
    scratch = new Uint8Array(bytesMax);
    beginnings = [];
    ends = [];
  }
  scratch.set(prefix);
  putSalt(prefix.length, salts, from);
  ends[head] ??= scratch.subarray(head);
  const { written } = utf8.encodeInto(text, ends[head]);
  return sha(scratched(head + written));
}

/**
 * `H("audit-content/v1\n" ‖ Σ(u8 len ‖ name ‖ c))`. It covers the segment hashes, so one segment
 * can be replaced by its hash (withheld or erased) and the log still verifies. In the order of
 * `segmentNames`; null for a segment that the event does not have.
 */
export function commitmentOfHashes(
  sha: Sha256,
  hashes: readonly (Uint8Array | null)[],
): Uint8Array {
  scratch.set(contentPrefix);
  let offset = contentPrefix.length;
  for (let index = 0; index < hashes.length; index += 1) {
    const [name, hash] = [namePrefixes[index], hashes[index]];
    if (!hash) continue;
    if (!name) throw new RangeError('no such segment');
    scratch.set(name, offset);
    scratch.set(hash, offset + name.length);
    offset += name.length + hash.length;
  }
  return sha(scratched(offset));
}

/**
 * The commitment of these texts, in the order of `segmentNames`. Each segment has its salt, or its
 * hash if it is withheld or erased. A segment that the event lacks has no salt and no hash.
 */
export function commitmentOfSegments(
  sha: Sha256,
  texts: readonly (string | null)[],
  salts: readonly (Uint8Array | null)[],
  hashes: readonly (Uint8Array | null)[],
): Uint8Array {
  const all = texts.map((text, index) => {
    const salt = salts[index];
    return salt && text !== null ? segmentHash(sha, index, salt, text) : (hashes[index] ?? null);
  });
  return commitmentOfHashes(sha, all);
}

/** The commitment of an event; `salts` holds 16 bytes for each segment that it has. */
export function commitmentOf(
  sha: Sha256,
  texts: readonly (string | null)[],
  salts: Uint8Array,
): Uint8Array {
  let from = -saltBytes;
  const hashes = texts.map((text, index) => {
    if (text === null) return null;
    from += saltBytes;
    return segmentHash(sha, index, salts, text, from);
  });
  return commitmentOfHashes(sha, hashes);
}

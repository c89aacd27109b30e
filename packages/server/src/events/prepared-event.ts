import {
  type CommittedEvent,
  commitmentOf,
  commitmentOfSegments,
  deriveEventSalt,
  type EntryVersion,
  encodeEntry,
  eventText,
  formatHex,
  parseHex,
  type SegmentHex,
  type SegmentName,
  type Sha256,
  type StoredFields,
  saltBytes,
  saltsLength,
  segmentHash,
  segmentNames,
  segmentTexts,
  versionOf,
  type WithholdableSegment,
} from '@indelible/protocol';

/** An event ready to append: canonical columns, and the commitment for the log. */
export interface PreparedEvent extends CommittedEvent {
  version: EntryVersion;
  texts: readonly (string | null)[];
  salts: Uint8Array;
  commitment: Uint8Array;
  /** Approximate memory, for the limit of the queue. */
  bytes: number;
}

export interface StoredEvent extends StoredFields {
  /** 16 bytes for each segment; zeros if it is erased. */
  salts: Uint8Array;
  /** JSON text of the hashes of erased segments by name; null if none is erased. */
  erased?: string | null;
}

type Erasable = Pick<StoredEvent, 'erased'>;

function erasedHashes({ erased }: Erasable): SegmentHex {
  return erased ? JSON.parse(erased) : {};
}

/** The segments that were erased, in the order of `segmentNames`. */
export function erasedSegments(event: Erasable): SegmentName[] {
  if (!event.erased) return [];
  const hashes = erasedHashes(event);
  return segmentNames.filter((name) => hashes[name] !== undefined);
}

/** Whether the event was recorded with a state, also if that was erased. */
export function hasState(event: Pick<StoredEvent, 'before' | 'after' | 'erased'>): boolean {
  const { before, after } = event;
  return before !== null || after !== null || erasedSegments(event).includes('state');
}

/**
 * The values that open a stored event's commitment, in the order of `segmentNames`, as in an
 * `EventBody`.
 */
export interface EventOpeners {
  salts: readonly (Uint8Array | null)[];
  hashes: readonly (Uint8Array | null)[];
}

export function openersOf(event: Pick<StoredEvent, 'salts' | 'erased' | 'context'>): EventOpeners {
  const known = erasedHashes(event);
  const hasContext = event.context !== null || known.context !== undefined;
  let at = 0;
  const hashes = segmentNames.map((name) => {
    const hash = known[name];
    return hash === undefined ? null : parseHex(hash);
  });
  const salts = segmentNames.map((name, index) => {
    if (name === 'context' && !hasContext) return null;
    at += saltBytes;
    const salt = event.salts.subarray(at - saltBytes, at);
    return salt.length === saltBytes && hashes[index] === null ? salt : null;
  });
  return { salts, hashes };
}

/** The openers in the form of the table. */
export function storedOpeners({ salts, hashes }: EventOpeners): {
  salts: Buffer;
  erased: string | null;
} {
  const kept = segmentNames.flatMap((_, index) => {
    const salt = salts[index] ?? (hashes[index] ? new Uint8Array(saltBytes) : null);
    return salt === null ? [] : [salt];
  });
  const erased = segmentNames.flatMap((name, index) => {
    const hash = hashes[index];
    return hash ? [[name, formatHex(hash)]] : [];
  });
  const isWhole = erased.length === 0;
  return {
    salts: Buffer.concat(kept),
    erased: isWhole ? null : JSON.stringify(Object.fromEntries(erased)),
  };
}

/**
 * What opens the event without this segment; null if it has none to erase. The hash replaces the
 * salt, because with the salt the text could be guessed.
 */
export function withoutSegment(
  sha: Sha256,
  event: CommittedEvent,
  { salts, hashes }: EventOpeners,
  segment: WithholdableSegment,
): EventOpeners | null {
  const index = segmentNames.indexOf(segment);
  const [salt, text = null] = [salts[index], segmentTexts(event)[index]];
  if (!salt || text === null) return null;
  const hash = segmentHash(sha, index, salt, text);
  return { salts: salts.with(index, null), hashes: hashes.with(index, hash) };
}

/** The log entry of a stored event, and its commitment: as appended, if nothing has changed. */
export function storedEntry(
  sha: Sha256,
  event: StoredEvent,
): { entry: Uint8Array; commitment: Uint8Array } {
  const openers = openersOf(event);
  const { salts, hashes } = openers;
  const commitment = commitmentOfSegments(sha, segmentTexts(event), salts, hashes);
  const receivedAtUs = event.receivedAtMs * 1_000;
  const version = versionOf(openers);
  const entry = encodeEntry({ version, receivedAtUs, eventUuid: event.uuid, commitment });
  return { entry, commitment };
}

export type Random = (bytes: number) => Uint8Array;

export function prepare(event: CommittedEvent, sha: Sha256, random: Random): PreparedEvent {
  const texts = segmentTexts(event);
  const salts = random(saltsLength(texts));
  deriveEventSalt(sha, texts, salts);
  return {
    ...event,
    version: event.context === null ? 1 : 2,
    texts,
    salts,
    commitment: commitmentOf(sha, texts, salts),
    bytes: 512 + 2 * texts.reduce((sum, text) => sum + (text?.length ?? 0), 0),
  };
}

/**
 * Whether a producer sent the same content again. Recorder, category and `crossTenant` depend on
 * the service (a rotated key, an extended catalogue, an earlier build), so the stored values are
 * used. Erased values cannot be compared, and are not stored again.
 */
export function sameContent(sent: PreparedEvent, stored: CommittedEvent & Erasable): boolean {
  const { category, crossTenant, recordedByKind, recordedById } = stored;
  const own = { category, crossTenant, recordedByKind, recordedById };
  const again = segmentTexts({ ...sent, ...own });
  const texts = segmentTexts(stored);
  const erased = erasedSegments(stored);
  return segmentNames.every(
    (name, index) => erased.includes(name) || texts[index] === again[index],
  );
}

/** The event as the API shows it; see `eventText`. */
export function eventJson(
  event: Omit<StoredEvent, 'salts'>,
  withStates: boolean,
  hasState: boolean,
): string {
  return eventText(event, withStates, hasState, erasedSegments(event));
}

import type { ShownEvent } from '../event/committed-event.ts';
import { parseProvenJson, withheldSegments } from '../event/event-body.ts';
import { uuidFromBytes, uuidTimeMs } from '../event/event-id.ts';
import { matchOf } from '../filter/event-filter.ts';
import { isCount } from '../json/strict-json.ts';
import { encodeUtf8, FormatError, formatHex, parseBase64, parseHex } from '../log/bytes.ts';
import { type Checkpoint, openCheckpoint } from '../log/checkpoint.ts';
import { entryBytes, receivedAtUs } from '../log/entry.ts';
import type { LogState, Sha256 } from '../log/merkle.ts';
import { BodyPass } from './body-pass.ts';
import {
  type CapsuleData,
  type CapsuleParts,
  capsuleJson,
  type ReadCapsule,
  readCapsule,
} from './capsule-data.ts';
import { EntryPass } from './entry-pass.ts';
import { parseEventProof, verifyEventProof } from './event-proof.ts';
import { createFindings, type Findings } from './findings.ts';
import { clockSlackMs } from './proven-cover.ts';
import { type UnknownValues, unknownOf } from './unknown-values.ts';

/** What a capsule that nothing contradicts shows. */
export interface CapsuleContent {
  data: CapsuleData;
  checkpoint: Checkpoint;
  /** The proven matches, newest first. */
  matches: ShownEvent[];
  /** Events of the time range that the log has. */
  inRange: number;
  /** Events whose content is gone: a match can be neither shown nor excluded. */
  unseen: number;
  /** Whether the matches are those that the service counted when the search was saved. */
  isSaved: boolean;
  /** Persons and resources of the query that occur in no event: of them it proves nothing. */
  unknownValues: UnknownValues;
}

/** `problems` has a sentence for each contradiction; a capsule with one proves nothing. */
export type CapsuleVerdict =
  | { code: 'intact'; problems: []; content: CapsuleContent }
  | { code: 'damaged'; problems: string[]; content: null };

/**
 * Verifies a capsule without any network: every byte of its data against the record in the log,
 * every entry from before the range up to the checkpoint against its signature, every event of the
 * range against its entry, and each of them against the filter. The keys default to those in the
 * capsule, which only vouch for themselves. Every problem is a verdict, also a malformed key.
 */
export async function verifyCapsule(
  sha: Sha256,
  parts: CapsuleParts,
  vkeys?: readonly string[],
): Promise<CapsuleVerdict> {
  const findings = createFindings();
  try {
    const capsule = readCapsule(parseProvenJson(parts.data));
    const { data } = capsule;
    const keys = vkeys ?? data.vkeys;
    const problems = await recordProblems(sha, parts, data, keys);
    if (problems.length > 0) return damaged(problems);
    const opened = await openCheckpoint(sha, data.checkpoint, keys);
    if (opened.code !== 'valid') return damaged([opened.message]);
    const { checkpoint } = opened;
    const entryAt = readEntries(sha, capsule, checkpoint, findings);
    if (findings.count() > 0) return damaged(messagesOf(findings));
    const found = readBodies(sha, capsule, checkpoint, entryAt, findings);
    const isSaved = isSavedAnswer(sha, data, found.matches);
    if (!isSaved && found.unseen === 0)
      findings.add('content_mismatch', otherAnswer(data, found.matches.length));
    if (findings.count() > 0) return damaged(messagesOf(findings));
    const { search, coverage } = data;
    const unknownValues = search.unknownValues ?? unknownOf(coverage.totals, search.matched);
    const content = { data, checkpoint, ...found, isSaved, unknownValues };
    return { code: 'intact', problems: [], content };
  } catch (error) {
    if (!(error instanceof FormatError)) throw error;
    return damaged([`The data of the capsule cannot be read: ${error.message}.`]);
  }
}

const damaged = (problems: string[]): CapsuleVerdict => ({
  code: 'damaged',
  problems,
  content: null,
});

const messagesOf = (findings: Findings) => findings.kept().map(({ message }) => message);

/** The log has a record of this very data, made by the service before it handed the capsule out. */
async function recordProblems(
  sha: Sha256,
  { data, record }: CapsuleParts,
  { tenant, search, checkpoint }: CapsuleData,
  vkeys: readonly string[],
): Promise<string[]> {
  const proof = parseEventProof(record);
  const { event } = proof.body;
  const after = JSON.parse(event.after ?? '{}') as { searchId?: unknown; sha256?: unknown };
  const isOwn =
    event.recordedByKind === 'service' &&
    event.action === 'download' &&
    event.resourceType === 'audit_log' &&
    event.tenantId === tenant.id &&
    after.searchId === search.id &&
    proof.checkpoint.split('\n')[0] === checkpoint.split('\n')[0];
  const problems = isOwn ? [] : ['The record of the capsule is of something else.'];
  if (after.sha256 !== formatHex(sha(encodeUtf8(data, 'the data')))) {
    problems.push('The data is not what the log recorded when this capsule was made.');
  }
  if (capsuleJson(JSON.parse(record)) !== record) {
    problems.push('The record of the capsule is not written as the service writes it.');
  }
  if (problems.length > 0) return problems;
  const verdict = await verifyEventProof(sha, record, vkeys);
  return verdict.code === 'valid' ? [] : [`The record of the capsule: ${verdict.message}`];
}

/** The entries from the capsule's first one up to the checkpoint, compared with its root. */
function readEntries(
  sha: Sha256,
  { data: { log }, filter }: ReadCapsule,
  checkpoint: Checkpoint,
  findings: Findings,
): (sequence: number) => Uint8Array {
  const entries = parseBase64(log.entries);
  const frontier = parseHex(log.frontier);
  if (entries === null || frontier === null || entries.length % entryBytes !== 0) {
    throw new FormatError('the entries are not whole');
  }
  const pass = new EntryPass({ sha, findings, checkpoint, start: startOf(log.first, frontier) });
  pass.add(entries);
  pass.finish();
  const entryAt = (sequence: number) => {
    const at = (sequence - log.first) * entryBytes;
    return entries.subarray(at, at + entryBytes);
  };
  if (log.first === 0) return entryAt;
  // Receipt times never go back, so nothing before was received later, nor happened later.
  const beganMs = entries.length > 0 ? receivedAtUs(entries) / 1_000 : Infinity;
  if (beganMs < filter.from - clockSlackMs) return entryAt;
  throw new FormatError('the entries begin within the time range');
}

function startOf(size: number, frontier: Uint8Array): LogState {
  const ones = size.toString(2).replaceAll('0', '').length;
  if (isCount(size) && frontier.length === ones * 32) return { size, frontier };
  throw new FormatError('the hashes before the entries are not whole');
}

type Found = Pick<CapsuleContent, 'matches' | 'inRange' | 'unseen'>;

/** The events of the range, compared with their entries and with the filter. */
function readBodies(
  sha: Sha256,
  { data, filter }: ReadCapsule,
  checkpoint: Checkpoint,
  entryAt: (sequence: number) => Uint8Array,
  findings: Findings,
): Found {
  const matches: ShownEvent[] = [];
  let undecided = 0;
  const { first } = data.log;
  const isInRange = (timeMs: number) => timeMs >= filter.from && timeMs < filter.to;
  const pass = new BodyPass({
    sha,
    findings,
    checkpoint,
    first,
    entryAt,
    tenantId: data.tenant.id,
    // An entry does not show whether its event matches the filter.
    cover: {
      latestCutoffMs: null,
      absenceOf: (_, timeMs) => (isInRange(timeMs) ? 'unjudged' : 'outside'),
    },
    onIntact(body) {
      const isMatch = matchOf(body.event, filter, withheldSegments(body));
      if (isMatch === true) matches.push(body.event);
      if (isMatch === null) undecided += 1;
    },
  });
  for (const body of data.bodies) pass.add(JSON.stringify(body));
  const { unjudged } = pass.finish();
  let inRange = 0;
  for (let sequence = first; sequence < checkpoint.size; sequence += 1) {
    if (isInRange(uuidTimeMs(uuidFromBytes(entryAt(sequence), 12)))) inRange += 1;
  }
  matches.sort((one, other) => (one.uuid < other.uuid ? 1 : -1));
  return { matches, inRange, unseen: unjudged + undecided };
}

/** Only absent content may make the answer another one than the saved one. */
function otherAnswer({ search }: CapsuleData, matched: number): string {
  return (
    `The service counted ${search.matched} matching events when the search was saved; the log ` +
    `has ${matched}, or others.`
  );
}

function isSavedAnswer(sha: Sha256, { search }: CapsuleData, matches: ShownEvent[]): boolean {
  const ids = matches.map(({ id }) => id).join('\n');
  const digest = formatHex(sha(encodeUtf8(ids, 'the ids')));
  return search.matched === matches.length && search.digest === digest;
}

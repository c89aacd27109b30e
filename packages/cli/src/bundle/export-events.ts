import type { BodyPage, IndelibleClient } from '@indelible/client';
import {
  type Checkpoint,
  counted,
  type ErasureRecord,
  formatTimestamp,
  HiddenSegments,
  parseBodyLine,
  readOrNull,
  ServiceRecords,
  type WithholdableSegment,
  withholdableSegments,
  withholdSegments,
} from '@indelible/protocol';
import { linesOf } from '../import/line-splitter.ts';
import { FindingError } from '../io.ts';
import { sha } from '../verify/hashing.ts';
import { bodyLineBytesMax } from '../verify/log-bodies.ts';
import type { Progress } from '../verify/log-source.ts';
import { statedSequence } from '../verify/newer-events.ts';
import { logIdOf } from '../verify/service-log.ts';
import type { EventsDone, PartFolder } from './part-folder.ts';

interface EventsToWrite {
  checkpoint: Checkpoint;
  withheld: readonly WithholdableSegment[];
  progress: Progress;
}

/**
 * Writes the events up to the checkpoint, page by page, continuing the part folder. Returns the
 * erasures that the log records after the checkpoint.
 */
export async function writeEvents(
  client: IndelibleClient,
  part: PartFolder,
  { checkpoint, withheld, progress }: EventsToWrite,
): Promise<ErasureRecord[]> {
  const { size } = checkpoint;
  const newer: ErasureRecord[] = [];
  progress.stage('events', size);
  progress.advance(part.done.events);
  if (part.done.next === null) return newer;
  for await (const page of client.log.bodies(logIdOf(checkpoint), part.done.next)) {
    const [whole, behind] = dividedAt(size, page);
    newer.push(...erasuresIn(behind));
    const removals = whole.flatMap(removalsIn);
    const lines = whole.map((line) => shownLine(line, withheld));
    const bytes = Buffer.concat(lines.flatMap((line) => [line, lineFeed]));
    const { next, cutoffMs } = page;
    part.addEvents(bytes, { next, cutoffMs, events: lines.length, removals });
    progress.advance(lines.length);
  }
  return newer;
}

const lineFeed = Buffer.from('\n');

/** The line without withheld segments. Records that explain absences keep their state. */
function shownLine(line: Buffer, withheld: readonly WithholdableSegment[]): Buffer {
  const isKept = withheld.includes('state') && explainsAbsence(line);
  const segments = isKept ? withheld.filter((name) => name !== 'state') : withheld;
  return segments.length === 0 ? line : Buffer.from(withholdSegments(sha, line, segments));
}

function explainsAbsence(line: Buffer): boolean {
  const { removals, erasures, reopenings } = recordsIn(line);
  return removals.length + erasures.length + reopenings.length > 0;
}

/** The removals that the line records; none for other lines. */
function removalsIn(line: Buffer): EventsDone['removals'] {
  return recordsIn(line).removals.map(({ sequence, cutoffMs, size }) => {
    return { sequence, cutoff: formatTimestamp(cutoffMs), size };
  });
}

const serviceMark = Buffer.from('"kind":"service"');
const actionMarks = ['delete', 'erase', 'reopen'].map((name) => Buffer.from(`"action":"${name}"`));

function recordsIn(line: Buffer): ServiceRecords {
  const records = new ServiceRecords();
  if (line.includes(serviceMark) && actionMarks.some((mark) => line.includes(mark))) {
    readOrNull(() => records.take(parseBodyLine(line).event));
  }
  return records;
}

/** Lines up to the checkpoint, and later ones, which belong to a later bundle. */
function dividedAt(size: number, { bytes }: BodyPage): [Buffer[], Buffer[]] {
  const chunk = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const all = [...linesOf([chunk], bodyLineBytesMax)].map((line) => line.bytes);
  const isBehind = (line: Buffer) => statedSequence(line) >= size;
  return [all.filter((line) => !isBehind(line)), all.filter(isBehind)];
}

/** The records of erasures in lines beyond the checkpoint. */
function erasuresIn(lines: readonly Buffer[]): readonly ErasureRecord[] {
  const records = new ServiceRecords();
  for (const line of lines) {
    if (line.includes(erasureMark)) records.take(parseBodyLine(line).event);
  }
  return records.erasures;
}

const hashesMark = Buffer.from('"hashes":{');
const erasureMark = Buffer.from('"action":"erase"');

/**
 * Throws FindingError if events lack values that were erased since the export began. The checkpoint
 * does not cover the log's record of that (`newer`), so a verifier could not tell erasing from
 * hiding. Verification reports other unexplained gaps.
 */
export function requireNothingErasedMeanwhile(
  part: PartFolder,
  withheld: readonly WithholdableSegment[],
  newer: readonly ErasureRecord[],
): void {
  if (newer.length === 0) return;
  const hidden = new HiddenSegments();
  const records = new ServiceRecords();
  for (const { bytes: line } of linesOf(part.events(), bodyLineBytesMax)) {
    if (!line.includes(hashesMark) && !line.includes(erasureMark)) continue;
    const body = parseBodyLine(line);
    records.take(body.event);
    hidden.take(body);
  }
  const own = withholdableSegments.filter((name) => !withheld.includes(name));
  const { erasures } = records;
  const all = [...erasures, ...newer];
  const count = own
    .map((name) => hidden.unexplained(name, erasures) - hidden.unexplained(name, all))
    .reduce((sum, each) => sum + each, 0);
  if (count === 0) return;
  throw new FindingError(
    `${counted(count, 'part of an event was', 'parts of events were')} erased since this export began; remove ` +
      `${part.path('')} and run the command again`,
  );
}

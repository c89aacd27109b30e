import {
  type ErasureRecord,
  HiddenSegments,
  parseBodyLine,
  ServiceRecords,
  type WithholdableSegment,
  withholdableSegments,
} from '@indelible/protocol';
import { LineSplitter } from '../import/line-splitter.ts';
import { FindingError } from '../io.ts';
import { bodyLineBytesMax } from '../verify/log-bodies.ts';
import type { PartFolder } from './part-folder.ts';

/** The records of erasures in lines beyond the checkpoint. */
export function erasuresIn(lines: readonly Buffer[]): readonly ErasureRecord[] {
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
  const take = (line: Buffer) => {
    if (!line.includes(hashesMark) && !line.includes(erasureMark)) return;
    const body = parseBodyLine(line);
    records.take(body.event);
    hidden.take(body);
  };
  const lines = new LineSplitter(bodyLineBytesMax);
  for (const chunk of part.events()) for (const { bytes } of lines.push(chunk)) take(bytes);
  for (const { bytes } of lines.end()) take(bytes);
  const own = withholdableSegments.filter((name) => !withheld.includes(name));
  const { erasures } = records;
  const all = [...erasures, ...newer];
  const count = own
    .map((name) => hidden.unexplained(name, erasures) - hidden.unexplained(name, all))
    .reduce((sum, each) => sum + each, 0);
  if (count === 0) return;
  throw new FindingError(
    `${count} part(s) of events were erased since this export began; remove ` +
      `${part.path('')} and run the command again`,
  );
}

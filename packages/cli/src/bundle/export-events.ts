import type { BodyPage, IndelibleClient } from '@indelible/client';
import { type Checkpoint, type WithholdableSegment, withholdSegments } from '@indelible/protocol';
import { LineSplitter } from '../import/line-splitter.ts';
import { sha } from '../verify/hashing.ts';
import { bodyLineBytesMax } from '../verify/log-bodies.ts';
import type { Progress } from '../verify/log-source.ts';
import { statedSequence } from '../verify/newer-events.ts';
import { logIdOf } from '../verify/service-log.ts';
import type { PartFolder } from './part-folder.ts';

interface EventsToWrite {
  checkpoint: Checkpoint;
  withheld: readonly WithholdableSegment[];
  progress: Progress;
}

/** Writes the events up to the checkpoint, a page at a time, from where the part folder has got to. */
export async function writeEvents(
  client: IndelibleClient,
  part: PartFolder,
  { checkpoint, withheld, progress }: EventsToWrite,
): Promise<void> {
  const { size } = checkpoint;
  progress.stage('events', size);
  progress.advance(part.done.events);
  if (part.done.next === null) return;
  for await (const page of client.log.bodies(logIdOf(checkpoint), part.done.next)) {
    const lines = [...linesOf(page, size)].map((line) =>
      withheld.length === 0 ? line : Buffer.from(withholdSegments(sha, line, withheld)),
    );
    const bytes = Buffer.concat(lines.flatMap((line) => [line, lineFeed]));
    part.addEvents(bytes, { ...page, events: lines.length });
    progress.advance(lines.length);
  }
}

const lineFeed = Buffer.from('\n');

/** Lines of events that the checkpoint reaches: the others are of a later bundle. */
function* linesOf({ bytes }: BodyPage, size: number): Generator<Buffer, void, undefined> {
  const splitter = new LineSplitter(bodyLineBytesMax);
  const chunk = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  for (const lines of [splitter.push(chunk), splitter.end()]) {
    for (const line of lines) if (!(statedSequence(line.bytes) >= size)) yield line.bytes;
  }
}

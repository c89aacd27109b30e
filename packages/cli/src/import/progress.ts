import type { Terminal } from '../io.ts';
import { grouped } from '../text.ts';
import type { Source } from './source.ts';
import type { Tally } from './tally.ts';

/** The display of a running import. */
export interface Progress {
  /** A note for the user, such as that the service does not answer. */
  note(text: string): void;
  stop(): void;
}

const barMs = 200;
const lineMs = 5_000;

/** A bar on a terminal if the length is known, else a plain line every five seconds. */
export async function startProgress(
  stream: Terminal,
  source: Source,
  tally: Tally,
): Promise<Progress> {
  const { bytesTotal } = source;
  return stream.isTTY && bytesTotal !== null
    ? startBar(stream, source, bytesTotal, tally)
    : startLines(stream, tally);
}

async function startBar(
  stream: Terminal,
  source: Source,
  bytesTotal: number,
  tally: Tally,
): Promise<Progress> {
  const { default: cliProgress } = await import('cli-progress');
  const bar = new cliProgress.SingleBar({
    format: '{bar} {percentage}%  {counts}  {note}',
    stream,
    gracefulExit: false,
    clearOnComplete: true,
  });
  let note = '';
  let notedAt = 0;
  const show = () => {
    if (performance.now() - notedAt > lineMs) note = '';
    bar.update(source.bytesRead(), { counts: counts(tally), note });
  };
  bar.start(bytesTotal, 0, { counts: counts(tally), note });
  const timer = setInterval(show, barMs);
  return {
    note: (text) => {
      [note, notedAt] = [text, performance.now()];
      show();
    },
    stop: () => {
      clearInterval(timer);
      bar.stop();
    },
  };
}

function startLines(stream: Terminal, tally: Tally): Progress {
  const timer = setInterval(() => stream.write(`${counts(tally)}\n`), lineMs);
  return {
    note: (text) => void stream.write(`${text}\n`),
    stop: () => clearInterval(timer),
  };
}

function counts({ lines, created, duplicates, rejected }: Tally): string {
  const parts = [`${grouped(lines)} lines`, `${grouped(created)} created`];
  if (duplicates > 0) parts.push(`${grouped(duplicates)} duplicates`);
  if (rejected > 0) parts.push(`${grouped(rejected)} rejected`);
  return parts.join(', ');
}

import { withCommas } from '@indelible/protocol';
import type { Io, Terminal } from './io.ts';
import { visible } from './text.ts';
import type { Progress } from './verify/log-source.ts';

const barMs = 200;
const lineMs = 5_000;

/** Work under way; read whenever it is shown. */
export interface Work {
  /** In words; empty: there is nothing to show yet. */
  counts(): string;
  done(): number;
  total(): number | null;
}

/** The display of some work. */
export interface Shown {
  /** A note for the user, such as that the service does not answer. */
  note(text: string): void;
  stop(): void;
}

/** Shows the stages of `work` until it ends. */
export async function withProgress<T>(
  { stderr }: Pick<Io, 'stderr'>,
  work: (progress: Progress) => Promise<T>,
): Promise<T> {
  const stage = { name: '', total: null as number | null, done: 0 };
  const shown = showWork(stderr, {
    counts() {
      const { name, total, done } = stage;
      if (name === '') return '';
      const all = total === null ? '' : ` of ${withCommas(total)}`;
      return `${name} ${withCommas(done)}${all}`;
    },
    done: () => stage.done,
    total: () => stage.total,
  });
  try {
    return await work({
      stage: (name, total) => Object.assign(stage, { name, total, done: 0 }),
      advance(count) {
        stage.done += count;
      },
      note: (text) => shown.note(text),
    });
  } finally {
    shown.stop();
  }
}

/** Shows work until `stop`: a bar on a terminal, else a plain line every five seconds. */
export function showWork(stream: Terminal, work: Work, asBar = stream.isTTY): Shown {
  return asBar ? showBar(stream, work) : showLines(stream, work);
}

const clearRest = '\u001b[K';

function showBar(stream: Terminal, work: Work): Shown {
  let [note, notedAt] = ['', 0];
  const show = () => {
    if (performance.now() - notedAt > lineMs) note = '';
    // With all its columns a terminal may go to the next line.
    const line = barLine(work, note, stream.columns ?? 80).slice(0, (stream.columns ?? 80) - 1);
    stream.write(`\r${line}${clearRest}`);
  };
  const timer = repeat(show, barMs);
  return {
    note(text) {
      [note, notedAt] = [visible(text), performance.now()];
      show();
    },
    stop() {
      clearInterval(timer);
      stream.write(`\r${clearRest}`);
    },
  };
}

const barColumns = { min: 8, max: 40 };

/** The bar takes what the counts leave of the columns. */
function barLine(work: Work, note: string, columns: number): string {
  const total = work.total();
  const noted = note === '' ? '' : `  ${note}`;
  if (!total) return work.counts() + noted;
  const share = Math.min(1, work.done() / total);
  const text = `${Math.floor(share * 100)}%  ${work.counts()}`;
  const size = Math.min(barColumns.max, columns - text.length - 2);
  if (size < barColumns.min) return text + noted;
  const full = Math.round(share * size);
  return `${'='.repeat(full)}${'-'.repeat(size - full)} ${text}${noted}`;
}

function showLines(stream: Terminal, work: Work): Shown {
  const timer = repeat(() => {
    const counts = work.counts();
    if (counts !== '') stream.write(`${counts}\n`);
  }, lineMs);
  return {
    note: (text) => void stream.write(`${visible(text)}\n`),
    stop: () => clearInterval(timer),
  };
}

/** The timer must not keep the process running. */
function repeat(show: () => void, ms: number): NodeJS.Timeout {
  return setInterval(show, ms).unref();
}

import { withCommas } from '@indelible/protocol';
import type { Io, Terminal } from './io.ts';
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

/** The display of some work; `begin` is called when its total is known, and for each new one. */
export interface Shown {
  begin(): void;
  /** A note for the user, such as that the service does not answer. */
  note(text: string): void;
  stop(): void;
}

/** Shows the stages of `work` until it ends. */
export async function withProgress<T>(
  { stderr }: Pick<Io, 'stderr'>,
  work: (progress: Progress) => Promise<T>,
): Promise<T> {
  const progress = await showProgress(stderr);
  try {
    return await work(progress);
  } finally {
    progress.stop();
  }
}

async function showProgress(stream: Terminal): Promise<Progress & { stop(): void }> {
  const work = { name: '', total: null as number | null, done: 0 };
  const shown = await showWork(stream, {
    counts() {
      const { name, total, done } = work;
      if (name === '') return '';
      const all = total === null ? '' : ` of ${withCommas(total)}`;
      return `${name} ${withCommas(done)}${all}`;
    },
    done: () => work.done,
    total: () => work.total,
  });
  return {
    stage(name, total) {
      Object.assign(work, { name, total, done: 0 });
      shown.begin();
    },
    advance(count) {
      work.done += count;
    },
    note: (text) => shown.note(text),
    stop: () => shown.stop(),
  };
}

/** Shows work until `stop`: a bar on a terminal, else a plain line every five seconds. */
export async function showWork(stream: Terminal, work: Work, asBar = stream.isTTY): Promise<Shown> {
  return asBar ? showBar(stream, work) : showLines(stream, work);
}

async function showBar(stream: Terminal, work: Work): Promise<Shown> {
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
    bar.update(work.done(), { counts: work.counts(), note });
  };
  const timer = repeat(show, barMs);
  return {
    // A bar needs a total, also if it is unknown.
    begin: () => bar.start(work.total() ?? 1, 0, { counts: work.counts(), note }),
    note(text) {
      [note, notedAt] = [text, performance.now()];
      show();
    },
    stop() {
      clearInterval(timer);
      bar.stop();
    },
  };
}

function showLines(stream: Terminal, work: Work): Shown {
  const timer = repeat(() => {
    const counts = work.counts();
    if (counts !== '') stream.write(`${counts}\n`);
  }, lineMs);
  return {
    begin: () => {},
    note: (text) => void stream.write(`${text}\n`),
    stop: () => clearInterval(timer),
  };
}

/** The timer must not keep the process running. */
function repeat(show: () => void, ms: number): NodeJS.Timeout {
  return setInterval(show, ms).unref();
}

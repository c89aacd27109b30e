import type { Terminal } from '../io.ts';
import { grouped } from '../text.ts';
import type { Progress } from './log-source.ts';

const barMs = 200;
const lineMs = 5_000;

/** Shows progress until `stop`: a bar on a terminal, else a plain line every five seconds. */
export async function showProgress(stream: Terminal): Promise<Progress & { stop(): void }> {
  const work = { name: '', total: null as number | null, done: 0 };
  const shown = stream.isTTY ? await bar(stream, work) : lines(stream, work);
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

interface Work {
  name: string;
  total: number | null;
  done: number;
}

interface Shown {
  begin(): void;
  note(text: string): void;
  stop(): void;
}

async function bar(stream: Terminal, work: Work): Promise<Shown> {
  const { default: cliProgress } = await import('cli-progress');
  const one = new cliProgress.SingleBar({
    format: '{bar} {percentage}%  {counts}  {note}',
    stream,
    gracefulExit: false,
    clearOnComplete: true,
  });
  let note = '';
  const show = () => one.update(work.done, { counts: countsOf(work), note });
  const timer = setInterval(show, barMs);
  // The timer must not keep the process running.
  timer.unref();
  return {
    // A bar needs a total, also if it is unknown.
    begin: () => one.start(work.total ?? 1, 0, { counts: countsOf(work), note }),
    note(text) {
      note = text;
      show();
    },
    stop() {
      clearInterval(timer);
      one.stop();
    },
  };
}

function lines(stream: Terminal, work: Work): Shown {
  const timer = setInterval(() => {
    if (work.name !== '') stream.write(`${countsOf(work)}\n`);
  }, lineMs);
  timer.unref();
  return {
    begin: () => {},
    note: (text) => void stream.write(`${text}\n`),
    stop: () => clearInterval(timer),
  };
}

function countsOf({ name, total, done }: Work): string {
  return total === null
    ? `${name} ${grouped(done)}`
    : `${name} ${grouped(done)} of ${grouped(total)}`;
}

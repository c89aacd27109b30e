/** What has to happen before this process is gone. */
export interface Ending {
  /** When there is time. */
  close(): Promise<unknown>;
  /** When there is none. */
  end(): void;
}

const endings = new Set<Ending>();
const closings = new Set<Ending>();
const signals = ['SIGTERM', 'SIGINT'] as const;
let isWatching = false;

/**
 * Calls `end` when the process exits, and with `withTime` calls `close` first, when it ends by
 * itself, by SIGTERM or by SIGINT. Returns what takes it back. One listener serves every recorder.
 */
export function watchProcessEnd(withTime: boolean, ending: Ending): () => void {
  if (!isWatching) process.on('exit', endAll);
  isWatching = true;
  endings.add(ending);
  if (withTime) {
    if (closings.size === 0) listen();
    closings.add(ending);
  }
  return () => {
    endings.delete(ending);
    if (closings.delete(ending) && closings.size === 0) unlisten();
  };
}

function endAll(): void {
  for (const ending of endings) ending.end();
}

function listen(): void {
  process.on('beforeExit', closeAll);
  for (const signal of signals) process.on(signal, closeAndGo);
}

function unlisten(): void {
  process.off('beforeExit', closeAll);
  for (const signal of signals) process.off(signal, closeAndGo);
}

function closeAll(): Promise<unknown> {
  return Promise.allSettled([...closings].map((ending) => ending.close()));
}

/**
 * A host that listens itself decides itself when to
 * go; otherwise the signal does what it always does.
 */
async function closeAndGo(signal: NodeJS.Signals): Promise<void> {
  const isOurs = process.listenerCount(signal) === 1;
  await closeAll();
  unlisten();
  if (isOurs) process.kill(process.pid, signal);
}

/** What must happen before this process ends. */
export interface Ending {
  /** Called if the process can wait. */
  close(): Promise<unknown>;
  /** Called if the process ends at once. */
  end(): void;
}

const endings = new Set<Ending>();
const closings = new Set<Ending>();
const signals = ['SIGTERM', 'SIGINT'] as const;
let isWatching = false;

/**
 * Calls `end` when the process exits. With `withTime`, first calls `close` when it ends by itself,
 * by SIGTERM or SIGINT. Returns the function that stops watching. All recorders share one listener.
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
 * If the host has its own listener, the host decides when to exit; otherwise the signal has its
 * default effect.
 */
async function closeAndGo(signal: NodeJS.Signals): Promise<void> {
  const isOurs = process.listenerCount(signal) === 1;
  await closeAll();
  unlisten();
  if (isOurs) process.kill(process.pid, signal);
}

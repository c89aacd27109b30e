import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';

export type Environment = Readonly<Record<string, string | undefined>>;

/** Input and output of a command: the process's, or a test's. */
export interface Io {
  env: Environment;
  stdin: Readable;
  stdout: Writable;
  stderr: Terminal;
  /** The exit status, unless the command throws. */
  exitCode: number;
}

/** A stream for people: a terminal, or a file. */
export type Terminal = Writable & { isTTY?: boolean };

/** Writes to standard output, and waits for a slow reader. */
export async function print({ stdout }: Io, text: string): Promise<void> {
  if (!stdout.write(text)) await once(stdout, 'drain');
}

/**
 * Lets the process end by itself, within five seconds: a forgotten timer or connection must not
 * keep it running.
 */
export function endSoon(): void {
  setTimeout(() => process.exit(), 5_000).unref();
}

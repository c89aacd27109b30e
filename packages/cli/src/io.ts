import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';

export type Environment = Readonly<Record<string, string | undefined>>;

/** What a command reads and writes: of the process, or of a test that runs it inside its own. */
export interface Io {
  env: Environment;
  stdin: Readable;
  stdout: Writable;
  stderr: Terminal;
  /** The status the command ends with, unless it throws. */
  exitCode: number;
}

/** A stream for people: a terminal, or a file of what one would have shown. */
export type Terminal = Writable & { isTTY?: boolean };

/** Writes to standard output, and waits while the reader is slower. */
export async function print({ stdout }: Io, text: string): Promise<void> {
  if (!stdout.write(text)) await once(stdout, 'drain');
}

/**
 * Lets the process end by itself, but not later than in five seconds: something that was left
 * running by mistake must not keep a command that is over.
 */
export function endSoon(): void {
  setTimeout(() => process.exit(), 5_000).unref();
}

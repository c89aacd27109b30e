import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { IndelibleError, UnreachableError } from '@indelible/client';
import { jsonLine } from './text.ts';

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
export type Terminal = Writable & { isTTY?: boolean; columns?: number };

/** Writes to standard output, and waits for a slow reader. */
export async function print({ stdout }: Io, text: string): Promise<void> {
  if (!stdout.write(text)) await once(stdout, 'drain');
}

/** Writes what a command has to say: as a line of JSON, or as text for people. */
export function answer(io: Io, json: boolean | undefined, value: unknown, text: string) {
  return print(io, json ? jsonLine(value) : text);
}

/**
 * Lets the process end by itself, within five seconds: a forgotten timer or connection must not
 * keep it running.
 */
export function endSoon(): void {
  setTimeout(() => process.exit(), 5_000).unref();
}

/** The exit status of every command. */
export const exitCodes = { fine: 0, finding: 1, usage: 2, unreachable: 3 } as const;

/** The call is wrong: an option, a file name, a missing key. */
export class UsageError extends Error {}

/** The command ran and found a problem: damaged input, a failed start. */
export class FindingError extends Error {}

export function sentenceOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/**
 * The exit status after an error: a refusal of the service (4xx) is wrong usage; a failing, busy or
 * silent service is unreachable.
 */
export function exitCodeOf(error: unknown): number {
  if (error instanceof UsageError) return exitCodes.usage;
  if (error instanceof UnreachableError) return exitCodes.unreachable;
  if (!(error instanceof IndelibleError)) return exitCodes.finding;
  const refused = error.status >= 400 && error.status < 500 && error.status !== 429;
  return refused ? exitCodes.usage : exitCodes.unreachable;
}

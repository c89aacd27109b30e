import { once } from 'node:events';

/** Writes to standard output, and waits while whoever reads it is slower. */
export async function print(text: string): Promise<void> {
  if (!process.stdout.write(text)) await once(process.stdout, 'drain');
}

/**
 * Lets the process end by itself, but not later than in five seconds: something that was left
 * running by mistake must not keep a command that is over.
 */
export function endSoon(): void {
  setTimeout(() => process.exit(), 5_000).unref();
}

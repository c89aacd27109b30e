import { FindingError, UsageError } from './exit-codes.ts';
import type { Environment } from './io.ts';

/**
 * The server's functions, which only the commands that work on its database load. Throws UsageError
 * for a configuration that it refuses.
 */
export async function loadServer(env: Environment) {
  const server = await import('@indelible/server');
  try {
    server.readConfig(env);
  } catch (error) {
    throw new UsageError(sentenceOf(error));
  }
  return server;
}

/** For what the server refuses after that: the command did its work and found something. */
export function asFinding(error: unknown): never {
  throw new FindingError(sentenceOf(error), { cause: error });
}

export function sentenceOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

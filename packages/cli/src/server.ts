import { type Environment, FindingError, sentenceOf, UsageError } from './io.ts';

/**
 * The server's functions; only commands that work on its database load them. Throws UsageError for
 * an invalid configuration.
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

/** Later errors of the server: the command ran and found a problem. */
export function asFinding(error: unknown): never {
  throw new FindingError(sentenceOf(error), { cause: error });
}

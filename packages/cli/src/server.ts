import { type Environment, FindingError, type Io, sentenceOf, UsageError } from './io.ts';

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

/** Runs a function of the server; its errors mean that the command found a problem. */
export async function onServer<T>(
  { env }: Io,
  run: (server: Awaited<ReturnType<typeof loadServer>>) => Promise<T>,
): Promise<T> {
  return run(await loadServer(env)).catch(asFinding);
}

/** Later errors of the server: the command ran and found a problem. */
export function asFinding(error: unknown): never {
  throw new FindingError(sentenceOf(error), { cause: error });
}

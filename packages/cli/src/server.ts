import { type Environment, FindingError, type Io, sentenceOf, UsageError } from './io.ts';

/**
 * The server's functions; only commands that work on its database load them. Throws UsageError for
 * an invalid configuration.
 */
export async function loadServer(env: Environment) {
  await loadStart(env);
  return import('@indelible/server');
}

/**
 * What starts the service, and loads the rest of it while PostgreSQL starts; and the environment
 * with the secrets that stand in files.
 */
export async function loadStart(given: Environment) {
  const { readConfig, withSecrets, startService } = await import('@indelible/server/main');
  try {
    const env = withSecrets(given);
    readConfig(env);
    return { startService, env };
  } catch (error) {
    throw new UsageError(sentenceOf(error));
  }
}

/** Runs a function of the server; its errors mean that the command found a problem. */
export async function onServer<T>(
  { env }: Io,
  run: (server: Awaited<ReturnType<typeof loadServer>>) => Promise<T>,
): Promise<T> {
  return run(await loadServer(env)).catch(asFinding);
}

/** Later errors of the server: the command ran and found a problem. Throws others as they are. */
export function asFinding(error: unknown): never {
  if (error instanceof UsageError) throw error;
  throw new FindingError(sentenceOf(error), { cause: error });
}

import { createClient } from '@indelible/client';
import type { Role, Service } from '@indelible/server';
import { type Command, Option } from 'commander';
import { wordsArgument } from '../arguments.ts';
import { banner, firstPanelLink, platformKey } from '../banner.ts';
import { demoTenants, loadDemo } from '../demo/load-demo.ts';
import { type Environment, endSoon, exitCodes, type Io, UsageError } from '../io.ts';
import { withProgress } from '../progress.ts';
import { asFinding, loadStart } from '../server.ts';
import { jsonLine } from '../text.ts';

const drainMsMax = 30_000;
const roles: readonly Role[] = ['api', 'worker'];

interface ServeOptions {
  role: Role[];
  demo?: boolean;
  json?: boolean;
}

/** `indelible serve`: the service itself, until Ctrl-C, SIGTERM or SIGHUP. */
export function serveCommand(program: Command, io: Io): void {
  program
    .command('serve')
    .description('run the service, configured by the environment (see docs/configuration.md)')
    .addOption(
      new Option('--role <roles>', 'api, worker, or both')
        .argParser(wordsArgument(roles))
        .default([...roles], roles.join()),
    )
    .option('--demo', 'load two demo tenants with half a year of history, once')
    .action((options: ServeOptions) => serve(options, io));
}

async function serve({ role, demo, json }: ServeOptions, given: Io): Promise<void> {
  const elsewhere = reachesElsewhere(given.env);
  if (demo && elsewhere !== undefined) {
    throw new UsageError(`--demo needs the embedded database on this machine: unset ${elsewhere}`);
  }
  const answers = role.includes('api');
  if (demo && !answers)
    throw new UsageError('--demo needs --role api: it records its events by HTTP');
  const { startService, env } = await loadStart(startEnvironment(given));
  const io = { ...given, env };
  // Heard before anything starts: a start that is cut off would leave its database running.
  const stopped = stopSignal(io);
  const service = await startService(io.env, role).catch(asFinding);
  const { url, dataDir, platformKeyFile, takenOver } = service;
  if (demo) await loadDemoInto(service, io);
  const panelLink =
    answers && elsewhere === undefined ? await firstPanelLink(service, io.env) : null;
  const facts = { url, dataDir, platformKeyFile, takenOver, panelLink };
  const text = answers
    ? banner(facts)
    : `Indelible works in the background; health at ${url}/healthz\n`;
  io.stdout.write(json ? jsonLine(facts) : text);
  await stopped;
  io.stderr.write('stopping: accepted events are still recorded\n');
  await service.stop();
  endSoon();
}

/**
 * The environment of the service. On a terminal, log lines would stand between those of the banner.
 */
export function startEnvironment({ env, stderr }: Pick<Io, 'env' | 'stderr'>): Environment {
  return stderr.isTTY && !env.LOG_LEVEL ? { ...env, LOG_LEVEL: 'warn' } : env;
}

/** A service that cannot show what it was started for stops again. */
async function loadDemoInto(service: Service, io: Io): Promise<void> {
  const client = createClient({ url: service.url, key: platformKey(service, io.env) });
  const loading = withProgress(io, (progress) =>
    loadDemo(client, Date.now(), demoTenants, progress),
  );
  await loading.catch(async (error) => {
    await service.stop();
    throw error;
  });
}

/**
 * The variable that makes this more than a service
 * to try out, whose panel its own terminal may open.
 */
function reachesElsewhere(env: Environment): string | undefined {
  return ['DATABASE_URL', 'DATABASE_URL_FILE', 'PUBLIC_URL'].find((name) => env[name]?.trim());
}

/**
 * Resolves at the first signal, from which on the process has 30 s to end. Further ones change
 * nothing: npm passes on the Ctrl-C that the terminal has sent already.
 */
function stopSignal(io: Io): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  let heard = false;
  const hear = () => {
    if (!heard) setTimeout(endAnyway, drainMsMax, io).unref();
    heard = true;
    resolve();
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, hear);
  return promise;
}

function endAnyway(io: Io): void {
  io.stderr.write(`indelible: not done within ${drainMsMax / 1_000} s; ending anyway\n`);
  process.exit(exitCodes.finding);
}

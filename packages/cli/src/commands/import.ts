import type { Retry } from '@indelible/client';
import type { Plan } from '@indelible/protocol';
import { withCommas } from '@indelible/protocol';
import { type Command, Option } from 'commander';
import { tenantIdArgument } from '../arguments.ts';
import {
  type ConnectionOptions,
  catalogueOf,
  connect,
  requireReachable,
  withConnection,
} from '../connection.ts';
import { dryService } from '../import/dry-run.ts';
import { FindingsFile, findingsPaths, noFindings } from '../import/findings-file.ts';
import { ForeignFormError } from '../import/foreign-form.ts';
import { type EpochForm, epochForms } from '../import/line-times.ts';
import { readMap } from '../import/map-file.ts';
import { type ImportRun, runImport } from '../import/run-import.ts';
import { openSource, type Source } from '../import/source.ts';
import {
  countsText,
  type Ending,
  newTally,
  summaryJson,
  summaryText,
  type Tally,
} from '../import/tally.ts';
import { answer, exitCodes, type Io, type Terminal } from '../io.ts';
import { requireFolderOf } from '../kept-file.ts';
import { type Shown, showWork } from '../progress.ts';

interface ImportOptions extends ConnectionOptions {
  createTenants?: Plan;
  dryRun?: boolean;
  map?: string;
  rejects?: string;
  time?: EpochForm;
}

const help = `
Each line is an audit event as for POST /api/audit-logs, optionally with a sourceId:
the event's id in its source system. Files may be gzip-compressed.

A repeated import adds nothing, because every event has the same id at every run: the
id in the line; else an id from timestamp and sourceId; else an id from timestamp and
content, so that two equal lines without sourceId are one event. Events of one tenant
are recorded and listed in the order of their lines, those of one timestamp in that of
the numbers at the end of their sourceIds, if these are numbers.

Rejected lines are shown by path and code, with one line of each, and all go to
<file>.rejected.ndjson with line number and reason. The same
sourceId with different content is reported too (all in <file>.conflicts.ndjson); where
the times differ, both events are stored. At most ten million lines have a sourceId.

Exit status: 0 everything is stored, 1 lines were rejected or the input is damaged,
2 wrong usage, 3 the service cannot be reached, 130 interrupted (143 by SIGTERM).`;

export function importCommand(program: Command, io: Io): void {
  const command = program
    .command('import')
    .description('record the events of a file, one JSON object a line')
    .argument('<file>', 'NDJSON, plain or gzip; - for standard input')
    .option(
      '--tenant <id>',
      'the tenant of all lines, also of those that name another',
      tenantIdArgument,
    )
    .option('--create-tenants <plan>', 'create unknown tenants with this plan')
    .addOption(
      new Option('--dry-run', 'judge every line, and store nothing; needs no service').conflicts([
        'rejects',
      ]),
    )
    .option('--map <file>', 'where lines of another product have the fields of an event, in JSON')
    .option('--rejects <file>', 'where rejected lines go')
    .addOption(new Option('--time <form>', 'of numbers in timestamp').choices(epochForms));
  withConnection(command)
    .addHelpText('after', help)
    .action(async (path: string, options: ImportOptions) => {
      io.exitCode = await importFile(path, options, io);
    });
}

async function importFile(path: string, options: ImportOptions, io: Io): Promise<number> {
  const interruption = new Interruption();
  try {
    const run = await prepare(path, options, io, interruption);
    const startedAt = performance.now();
    const failure = await runImport(run).then(
      () => null,
      (error: unknown) => ({ error }),
    );
    run.progress.stop();
    const seconds = (performance.now() - startedAt) / 1_000;
    const ending = endingOf(run, seconds, interruption);
    const { tally } = run;
    await answer(io, options.json, summaryJson(tally, ending), summaryText(tally, ending));
    return exitStatus(failure, run, interruption, io);
  } finally {
    interruption.end();
  }
}

type Prepared = ImportRun & { progress: Shown };

async function prepare(
  path: string,
  options: ImportOptions,
  io: Io,
  { stop, cancel }: Interruption,
): Promise<Prepared> {
  const { dryRun = false } = options;
  const findings = dryRun ? noFiles : findingsOf(path, options);
  const map = options.map === undefined ? null : readMap(options.map);
  const source = await openSource(path === '-' ? io.stdin : path, stop.signal);
  const shown: { progress?: Shown } = {};
  const note = (text: string) => shown.progress?.note(text);
  const client = dryRun
    ? dryService(catalogueOf(io.env), Date.now)
    : await reachedService(options, io, cancel.signal, note);
  const tally = newTally(dryRun);
  shown.progress = showImport(io.stderr, source, tally);
  return {
    client,
    source,
    tally,
    ...findings,
    rules: { tenantForAll: options.tenant ?? null, epochForm: options.time ?? null, map },
    createTenants: options.createTenants ?? null,
    stop,
    signal: cancel.signal,
    progress: shown.progress,
  };
}

const noFiles = { rejected: noFindings, conflicts: noFindings };

function findingsOf(path: string, { rejects }: ImportOptions) {
  const { rejected, conflicts } = findingsPaths(path, rejects);
  // The default file may lie where nothing can be written: most imports do not need it.
  if (rejects !== undefined) requireFolderOf(rejected);
  return { rejected: new FindingsFile(rejected), conflicts: new FindingsFile(conflicts) };
}

async function reachedService(
  options: ImportOptions,
  io: Io,
  signal: AbortSignal,
  note: (text: string) => void,
) {
  const onRetry = (retry: Retry) => note(retryNote(retry));
  const client = connect(options, io, { signal, timeoutMs: 60_000, attempts: 10, onRetry });
  await requireReachable(options, io.env);
  return client;
}

/** A bar needs the length of the input, which a pipe does not have. */
function showImport(stream: Terminal, source: Source, tally: Tally): Shown {
  const { bytesTotal } = source;
  const work = { counts: () => countsText(tally), done: source.bytesRead, total: () => bytesTotal };
  return showWork(stream, work, stream.isTTY && bytesTotal !== null);
}

function retryNote({ error, delayMs }: Retry): string {
  return `${error.message}; trying again in ${(delayMs / 1_000).toFixed(1)} s`;
}

function endingOf(run: ImportRun, seconds: number, interruption: Interruption): Ending {
  const { tally, rejected, conflicts } = run;
  return {
    seconds,
    interrupted: interruption.exitCode !== null,
    rejectedFile: tally.rejected > 0 ? rejected.path : null,
    conflictsFile: tally.conflicts > 0 ? conflicts.path : null,
  };
}

/** Throws the error that ended the import early, except an interruption by the user. */
function exitStatus(
  failure: { error: unknown } | null,
  { tally }: ImportRun,
  { exitCode }: Interruption,
  { stderr }: Io,
): number {
  if (failure?.error instanceof ForeignFormError) throw failure.error;
  if (failure !== null) {
    stderr.write(
      `${exitCode === null ? 'stopped by the error below' : 'interrupted'} at line ` +
        `${withCommas(tally.lastLine)}; run the same command again to finish: events that are ` +
        'stored already are not stored twice\n',
    );
    if (exitCode === null) throw failure.error;
    return exitCode;
  }
  return tally.rejected > 0 ? exitCodes.finding : exitCodes.fine;
}

const patienceMs = 5_000;
const numbers = { SIGINT: 2, SIGTERM: 15 } as const;
type Signal = keyof typeof numbers;

/**
 * Ctrl-C and SIGTERM stop reading at once; batches in flight have five seconds. Further signals
 * have no effect: npx sends the Ctrl-C of the terminal a second time.
 */
class Interruption {
  /** Stops reading. */
  readonly stop = new AbortController();
  /** Aborts calls in flight. */
  readonly cancel = new AbortController();
  #signal: Signal | null = null;
  #timer: NodeJS.Timeout | undefined;

  constructor() {
    for (const signal of Object.keys(numbers)) process.on(signal, this.#interrupt);
  }

  /** The exit status of an interrupted command, as in shells; null if not interrupted. */
  get exitCode(): number | null {
    return this.#signal === null ? null : 128 + numbers[this.#signal];
  }

  /** Closes the source; restores the default effect of signals. */
  end(): void {
    this.stop.abort(new Error('ended'));
    clearTimeout(this.#timer);
    for (const signal of Object.keys(numbers)) process.off(signal, this.#interrupt);
  }

  readonly #interrupt = (signal: Signal): void => {
    if (this.#signal !== null) return;
    this.#signal = signal;
    this.stop.abort(new Error('interrupted'));
    this.#timer = setTimeout(() => this.cancel.abort(new Error('interrupted')), patienceMs);
  };
}

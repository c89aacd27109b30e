import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:os';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { run } from '../run.ts';

const main = join(import.meta.dirname, '..', 'main.ts');

export interface CliOptions {
  /** The complete environment, so that no setting of the machine matters. */
  env?: Record<string, string>;
  /** Standard input; default: empty. */
  input?: string | Buffer;
}

interface CliResult {
  /** The status that a shell shows: 128 and the signal's number if that ended the process. */
  status: number | null;
  stdout: string;
  stderr: string;
}

/**
 * Runs a command in this process, because starting a process takes most of a short command's time.
 * Signals, a working directory and an exit need `RunningCli`.
 */
export async function runCli(
  args: readonly string[],
  options: CliOptions = {},
): Promise<CliResult> {
  const { env = {}, input = '' } = options;
  const [stdout, stderr] = [new Kept(), new Kept()];
  const stdin = Readable.from(input === '' ? [] : [Buffer.from(input)], { objectMode: false });
  const status = await run(args, { env, stdin, stdout, stderr, exitCode: 0 });
  return { status, stdout: stdout.text, stderr: stderr.text };
}

class Kept extends Writable {
  text = '';

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.text += chunk;
    done();
  }
}

/** A command line as a separate process. */
export class RunningCli {
  readonly process: ChildProcess;
  stdout = '';
  stderr = '';
  readonly #closed: Promise<unknown>;

  /**
   * Adds PATH, HOME and Node's cache to the environment. Without input, stdin stays open. `node` is
   * the program that runs it.
   */
  constructor(
    args: readonly string[],
    {
      env = {},
      cwd = '/',
      input,
      node = process.execPath,
    }: CliOptions & { cwd?: string; node?: string | undefined } = {},
  ) {
    const { PATH = '', HOME = '', NODE_COMPILE_CACHE = '' } = process.env;
    const own = { PATH, HOME, NODE_COMPILE_CACHE };
    this.process = spawn(node, [main, ...args], { env: { ...own, ...env }, cwd });
    this.process.stdout?.setEncoding('utf8').on('data', (text) => {
      this.stdout += text;
    });
    this.process.stderr?.setEncoding('utf8').on('data', (text) => {
      this.stderr += text;
    });
    // A command that refuses its arguments does not read its input.
    this.process.stdin?.on('error', () => {});
    if (input !== undefined) this.process.stdin?.end(input);
    this.#closed = once(this.process, 'close');
  }

  async ended(): Promise<CliResult> {
    await this.#closed;
    const { exitCode, signalCode } = this.process;
    const status = signalCode === null ? exitCode : 128 + constants.signals[signalCode];
    return { status, stdout: this.stdout, stderr: this.stderr };
  }
}

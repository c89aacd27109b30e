import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

const main = join(import.meta.dirname, '..', 'main.ts');

export interface CliOptions {
  /**
   * Beside PATH, HOME and Node's cache nothing is passed on, so that no setting of the machine
   * counts.
   */
  env?: Record<string, string>;
  cwd?: string;
  /** Standard input, sent at once; without it the input stays open. */
  input?: string | Buffer;
}

export interface CliResult {
  status: number | null;
  stdout: string;
  stderr: string;
}

/** A command line that runs as a process of its own, as its users run it. */
export class RunningCli {
  readonly process: ChildProcess;
  stdout = '';
  stderr = '';
  readonly #closed: Promise<unknown>;

  constructor(args: readonly string[], { env = {}, cwd = '/', input }: CliOptions = {}) {
    const { PATH = '', HOME = '', NODE_COMPILE_CACHE = '' } = process.env;
    const own = { PATH, HOME, NODE_COMPILE_CACHE };
    this.process = spawn(process.execPath, [main, ...args], { env: { ...own, ...env }, cwd });
    this.process.stdout?.setEncoding('utf8').on('data', (text) => {
      this.stdout += text;
    });
    this.process.stderr?.setEncoding('utf8').on('data', (text) => {
      this.stderr += text;
    });
    // A command that refuses its arguments does not wait for its input.
    this.process.stdin?.on('error', () => {});
    if (input !== undefined) this.process.stdin?.end(input);
    this.#closed = once(this.process, 'close');
  }

  async ended(): Promise<CliResult> {
    await this.#closed;
    return { status: this.process.exitCode, stdout: this.stdout, stderr: this.stderr };
  }
}

/** Runs a command to its end. */
export function runCli(args: readonly string[], options: CliOptions = {}): Promise<CliResult> {
  return new RunningCli(args, { input: '', ...options }).ended();
}

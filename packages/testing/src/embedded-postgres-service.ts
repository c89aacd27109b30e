/** Starts `embedded-postgres-child.ts` as separate processes, and cleans up after them. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import {
  isPostmaster,
  readPostmasterPid,
} from '../../server/src/postgres/embedded/postmaster-pid.ts';

const script = join(import.meta.dirname, 'embedded-postgres-child.ts');

export interface ServiceOptions {
  dataDir: string;
  /** Folder of the package with PostgreSQL's programs, if not the installed one. */
  binariesRoot?: string;
  /** Account of the process, if not ours. */
  identity?: { uid: number; gid: number };
  /** Shell command that ends in `exec "$@"`, to start the process in a changed world. */
  shell?: string;
  node?: string;
  script?: string;
}

/** A child process that runs the embedded PostgreSQL. */
export class Service {
  readonly process: ChildProcess;
  readonly logged: string[] = [];
  ownerUrl = '';
  takenOver = false;
  startMs = 0;
  /** The error text of a failed start. */
  error: string | undefined;
  readonly #outcome: Promise<void>;

  constructor(options: ServiceOptions) {
    const args = [options.node ?? process.execPath, options.script ?? script, options.dataDir];
    if (options.binariesRoot !== undefined) args.push(options.binariesRoot);
    const command = ['/bin/sh', '-c', options.shell ?? 'exec "$@"', 'sh', ...args];
    const [program = '', ...rest] = command;
    this.process = spawn(program, rest, {
      ...options.identity,
      cwd: '/',
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    this.#outcome = this.#read();
  }

  /** Waits until the start has succeeded or failed. */
  async started(): Promise<this> {
    await this.#outcome;
    return this;
  }

  /** Ends the process by `signal` and waits for it. Returns its exit code. */
  async end(signal: NodeJS.Signals): Promise<number | null> {
    const { process: child } = this;
    if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
    const exit = once(child, 'exit');
    child.kill(signal);
    await exit;
    return child.exitCode;
  }

  async #read(): Promise<void> {
    const { stdout } = this.process;
    if (stdout === null) throw new Error('the child has no standard output');
    const lines = createInterface({ input: stdout });
    const outcome = new Promise<void>((resolve) => {
      lines.on('line', (line) => {
        const { log, ...result }: Record<string, unknown> = JSON.parse(line);
        if (log !== undefined) this.logged.push(String(log));
        else resolve(void Object.assign(this, result));
      });
    });
    await Promise.race([outcome, once(lines, 'close')]);
    if (this.ownerUrl === '') this.error ??= 'the child ended without a word';
  }
}

/** Number of the server process that runs on a data folder's cluster, if one does. */
export function serverPid(dataDir: string): number | undefined {
  const data = join(dataDir, 'postgresql', 'data');
  if (!existsSync(data)) return undefined;
  const claim = readPostmasterPid(data);
  return claim && isPostmaster(claim.pid, realpathSync(data)) ? claim.pid : undefined;
}

/**
 * Ends a server by a signal and waits for its end. SIGQUIT ends it at once but removes its shared
 * memory; after SIGKILL only the next start does.
 */
export async function endServer(dataDir: string, signal: 'SIGKILL' | 'SIGQUIT'): Promise<void> {
  const pid = serverPid(dataDir);
  if (pid === undefined) return;
  process.kill(pid, signal);
  while (serverPid(dataDir) === pid) await delay(5);
}

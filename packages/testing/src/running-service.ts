/** Runs `service-process.ts` as a child, speaks HTTP with it and ends it by signals. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Environment } from '../../server/src/config.ts';
import { platformKey } from './service.ts';

const ownScript = join(import.meta.dirname, 'service-process.ts');

/** What the service said of its start. */
interface Started {
  url: string;
  platformKeyFile: string | null;
  takenOver: boolean;
}

export interface HttpAnswer {
  status: number;
  headers: Headers;
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers
  body: any;
}

export interface HttpCall {
  method?: string;
  path: string;
  /** Bearer credential; null sends none. */
  key?: string | null;
  body?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

/** Sends a request to the service at this address; with the platform key unless told otherwise. */
export async function callService(url: string, call: HttpCall): Promise<HttpAnswer> {
  const { method = 'GET', path, key = platformKey, body, signal } = call;
  const headers = new Headers(call.headers);
  if (key !== null) headers.set('authorization', `Bearer ${key}`);
  if (body !== undefined) headers.set('content-type', 'application/json');
  const answer = await fetch(`${url}${path}`, {
    method,
    headers,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(signal === undefined ? {} : { signal }),
  });
  const text = await answer.text();
  const isJson = answer.headers.get('content-type')?.includes('json') === true;
  const { status } = answer;
  return { status, headers: answer.headers, text, body: isJson ? JSON.parse(text) : text };
}

/** A service in a child process. Everything it logs is kept in `log`. */
export class RunningService {
  readonly process: ChildProcess;
  log = '';
  /** The sentence of a start that failed. */
  error: string | undefined;
  #started: Started | undefined;
  readonly #exited: Promise<unknown>;
  readonly #outcome: Promise<void>;

  /**
   * `env` is the whole environment, but for a free port, a quiet log and Node's cache; `script` is
   * the `service-process.ts` of another release.
   */
  constructor(env: Environment, script = ownScript) {
    const { NODE_COMPILE_CACHE } = process.env;
    this.process = spawn(process.execPath, [script], {
      env: { PORT: '0', LOG_LEVEL: 'warn', NODE_COMPILE_CACHE, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#exited = once(this.process, 'exit');
    this.process.stderr?.on('data', (chunk) => {
      this.log += chunk;
    });
    this.#outcome = this.#read();
  }

  /** Waits until the start has succeeded; throws its sentence and the log when it has not. */
  async started(): Promise<this> {
    await this.#outcome;
    if (this.#started) return this;
    throw new Error(`the service did not start: ${this.error}\n${this.log}`);
  }

  /** The sentence of a start that must fail. */
  async refusal(): Promise<string> {
    await this.#outcome;
    await this.#exited;
    return this.error ?? 'it started';
  }

  get url(): string {
    return this.#facts().url;
  }

  get takenOver(): boolean {
    return this.#facts().takenOver;
  }

  /** The bootstrap key: the one made on the first start, or the one tests give. */
  get key(): string {
    const { platformKeyFile } = this.#facts();
    return platformKeyFile === null ? platformKey : readFileSync(platformKeyFile, 'utf8').trim();
  }

  call({ key = this.key, ...rest }: HttpCall): Promise<HttpAnswer> {
    return callService(this.url, { key, ...rest });
  }

  /** Ends the process by `signal`, waits for it, and returns its exit code (null: killed). */
  async end(signal: NodeJS.Signals): Promise<number | null> {
    if (this.process.exitCode === null && this.process.signalCode === null) {
      this.process.kill(signal);
      await this.#exited;
    }
    return this.process.exitCode;
  }

  #facts(): Started {
    if (!this.#started) throw new Error('the service is not started');
    return this.#started;
  }

  async #read(): Promise<void> {
    const { stdout } = this.process;
    if (stdout === null) throw new Error('the child has no standard output');
    const lines = createInterface({ input: stdout });
    const first = new Promise<void>((resolve) => {
      lines.on('line', (line) => {
        const said: Partial<Started> & { error?: string } = JSON.parse(line);
        if (said.error !== undefined) this.error = said.error;
        else if (said.url !== undefined) this.#started = said as Started;
        resolve();
      });
    });
    await Promise.race([first, once(lines, 'close')]);
    if (!this.#started) this.error ??= 'the child ended without a word';
  }
}

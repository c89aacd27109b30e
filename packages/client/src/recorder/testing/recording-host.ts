import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface, type Interface } from 'node:readline';
import { newFolder } from '@indelible/testing/folders';
import { expectLogIntact } from '@indelible/testing/intact';
import type { TestService } from '@indelible/testing/service';
import { onTestFinished } from 'vitest';
import { type AuditEvent, createClient } from '../../index.ts';
import { changeEvent } from '../../outbox/testing/change-event.ts';
import type { RecorderOptions } from '../index.ts';
import type { Told } from './recorder-process.ts';

/** A tenant with a queue whose changes are recorded, and a spool folder. */
export class RecordingHost {
  readonly queueId = randomUUID();
  readonly spoolFolder = newFolder();
  readonly #service: TestService;
  readonly url: string;
  readonly tenantId: string;
  readonly key: string;

  static async of(service: TestService, url: string): Promise<RecordingHost> {
    const { id, key } = await service.tenant();
    return new RecordingHost(service, url, id, key);
  }

  private constructor(service: TestService, url: string, tenantId: string, key: string) {
    this.#service = service;
    this.url = url;
    this.tenantId = tenantId;
    this.key = key;
  }

  client(url = this.url) {
    return createClient({ url, key: this.key, attempts: 1 });
  }

  event(change: number) {
    return changeEvent(this.tenantId, this.queueId, change);
  }

  /** The queue's changes in the log, in order; also checks that the log is intact. */
  async recorded(): Promise<unknown[]> {
    await expectLogIntact(this.#service, this.tenantId);
    return this.changes();
  }

  async changes(): Promise<unknown[]> {
    const found: AuditEvent[] = [];
    const query = { resourceId: this.queueId, sort: 'sequence', order: 'asc' } as const;
    for await (const event of this.client().list(query)) found.push(event);
    return found.map(({ diff }) => diff.changes?.to);
  }

  spoolFiles(): string[] {
    const names = readdirSync(this.spoolFolder, { recursive: true, encoding: 'utf8' });
    return names
      .filter((name) => name.endsWith('.log'))
      .map((name) => join(this.spoolFolder, name));
  }

  spooledText(): string {
    return this.spoolFiles()
      .map((path) => readFileSync(path, 'utf8'))
      .join('');
  }

  /** A process with its own recorder on the same folder. */
  process(options: Partial<RecorderOptions> = {}, limits: { url?: string; shell?: string } = {}) {
    const all = { spoolFolder: this.spoolFolder, ...options };
    const env = { URL: limits.url ?? this.url, KEY: this.key, OPTIONS: JSON.stringify(all) };
    const whose = { TENANT: this.tenantId, QUEUE: this.queueId };
    return new RecorderProcess({ ...env, ...whose }, limits.shell);
  }
}

const program = join(import.meta.dirname, 'recorder-process.ts');

export class RecorderProcess {
  readonly said: Record<string, unknown>[] = [];
  readonly #child: ChildProcess;
  readonly #lines: Interface;
  readonly #exited: Promise<unknown[]>;

  /** `shell`: runs before the program, for example to set a limit. */
  constructor(env: Record<string, string>, shell = ':') {
    const args = ['-c', `${shell}; exec "$@"`, 'sh', process.execPath, program];
    this.#child = spawn('/bin/sh', args, {
      env: { PATH: process.env.PATH ?? '', ...env },
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    this.#exited = once(this.#child, 'exit');
    const { stdout } = this.#child;
    if (stdout === null) throw new Error('the process has no output');
    this.#lines = createInterface({ input: stdout });
    this.#lines.on('line', (line) => this.said.push(JSON.parse(line)));
    onTestFinished(() => void this.#child.kill('SIGKILL'));
  }

  tell(what: Told): void {
    this.#child.stdin?.write(`${JSON.stringify(what)}\n`);
  }

  /** Waits for a report with this name. */
  async until(name: string): Promise<Record<string, unknown>> {
    for (;;) {
      const found = this.said.find((each) => name in each);
      if (found !== undefined) return found;
      await once(this.#lines, 'line');
    }
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name);
  }

  async ended(): Promise<unknown[]> {
    return this.#exited;
  }
}

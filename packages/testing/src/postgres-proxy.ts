import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import {
  createConnection,
  createServer,
  type NetConnectOpts,
  type Server,
  type Socket,
} from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * What happens at a COMMIT: the connection breaks before the server sees it, or after it was
 * executed; or it stays open without an answer.
 */
export type CommitFault = 'commit lost' | 'answer lost' | 'silence';

const socketFile = (url: string) => `.s.PGSQL.${new URL(url).port || '5432'}`;

function addressOf(url: string): NetConnectOpts {
  const { hostname, port, searchParams } = new URL(url);
  const folder = searchParams.get('host');
  return folder ? { path: join(folder, socketFile(url)) } : { host: hostname, port: Number(port) };
}

/**
 * A proxy on a Unix socket between a service and PostgreSQL; forwards everything until it is told
 * to disturb the next COMMIT. A protocol message is a letter and a length.
 */
export class PostgresProxy {
  readonly #server: Server;
  readonly #folder: string;
  #upstream: NetConnectOpts;
  readonly #file: string;
  readonly #sockets = new Set<Socket>();
  #fault: CommitFault | undefined;
  #broken = 0;
  #isCut = false;

  /** `url` names the server's socket folder (`host`), or its address. */
  constructor(url: string) {
    this.#file = socketFile(url);
    this.#upstream = addressOf(url);
    this.#folder = mkdtempSync(join(tmpdir(), `indelible-proxy-${randomBytes(2).toString('hex')}`));
    this.#server = createServer((client) => this.#serve(client));
  }

  /** New connections go to this server. */
  leadTo(url: string): void {
    this.#upstream = addressOf(url);
  }

  /** Listens and returns the URL of the proxy. */
  async open(url: string): Promise<string> {
    const path = join(this.#folder, this.#file);
    await new Promise<void>((resolve) => this.#server.listen(path, resolve));
    const through = new URL(url);
    through.searchParams.set('host', this.#folder);
    return through.href;
  }

  /** The next COMMIT of any connection is disturbed. */
  breakNextCommit(fault: CommitFault): void {
    this.#fault = fault;
  }

  /** Breaks every connection and accepts none until `mend`: the server is unavailable. */
  cut(): void {
    this.#isCut = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  mend(): void {
    this.#isCut = false;
  }

  /** Connections broken so far. */
  get broken(): number {
    return this.#broken;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
    rmSync(this.#folder, { recursive: true });
  }

  #serve(client: Socket): void {
    if (this.#isCut) {
      client.destroy();
      return;
    }
    const server = createConnection(this.#upstream);
    const both = [client, server];
    const destroy = () => {
      for (const socket of both) socket.destroy();
    };
    for (const socket of both) {
      this.#sockets.add(socket);
      socket.on('error', destroy);
      socket.on('close', () => {
        this.#sockets.delete(socket);
        destroy();
      });
    }
    let fault: CommitFault | undefined;
    // The driver writes a simple query at once, so it is never split.
    client.on('data', (chunk) => {
      if (!fault && this.#fault && chunk.includes('Q\0\0\0\x0bCOMMIT\0')) {
        fault = this.#fault;
        this.#fault = undefined;
        this.#broken++;
      }
      if (fault === 'commit lost') destroy();
      else server.write(chunk);
    });
    server.on('data', (chunk) => {
      // Answers of statements before the commit may come alone: cut then, it could be lost too.
      if (fault === 'answer lost' && chunk.includes('COMMIT\0')) destroy();
      else if (fault === undefined) client.write(chunk);
    });
  }
}

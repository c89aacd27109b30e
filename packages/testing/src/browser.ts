import { randomUUID } from 'node:crypto';
import type { App } from '../../server/src/app.ts';
import { type Answer, type CallOptions, callOn } from './service.ts';

export const ownOrigin = 'http://127.0.0.1:3000';

export interface Person {
  id: string;
  email: string | null;
  role: string;
}

export const admin = (email: string | null = 'ana@example.com'): Person => {
  return { id: randomUUID(), email, role: 'admin' };
};

/** A browser at the panel: stores the service's cookies and sends them. */
export class Browser {
  readonly #app: App;
  readonly #cookies = new Map<string, string>();
  /** The received Set-Cookie headers. */
  readonly received: string[] = [];

  constructor(app: App) {
    this.#app = app;
  }

  /** The header Cookie that it sends. */
  get cookie(): string {
    return [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  }

  plant(name: string, value: string): void {
    this.#cookies.set(name, value);
  }

  async call(options: CallOptions): Promise<Answer> {
    const unsafe = options.method !== undefined && !['GET', 'HEAD'].includes(options.method);
    const headers = {
      ...(this.cookie === '' ? {} : { cookie: this.cookie }),
      ...(unsafe ? { origin: ownOrigin } : {}),
      'sec-fetch-site': 'same-origin',
      ...options.headers,
    };
    const answer = await callOn(this.#app, { key: null, ...options, headers });
    for (const header of [answer.headers['set-cookie'] ?? []].flat()) this.#keep(String(header));
    return answer;
  }

  signIn(body: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    return this.call({ method: 'POST', url: '/api/session', body, headers });
  }

  signOut(): Promise<Answer> {
    return this.call({ method: 'DELETE', url: '/api/session' });
  }

  #keep(header: string): void {
    this.received.push(header);
    const [pair = '', ...attributes] = header.split('; ');
    const [name = '', value = ''] = pair.split('=');
    if (attributes.includes('Max-Age=0')) this.#cookies.delete(name);
    else this.#cookies.set(name, value);
  }
}

/** The token of a new viewer link of this service, made with the platform key. */
export async function viewerToken(app: App, input: Record<string, unknown>): Promise<string> {
  const url = '/api/viewer-links';
  const { status, body } = await callOn(app, { method: 'POST', url, body: input });
  if (status !== 201) throw new Error(`no link: ${JSON.stringify(body)}`);
  return new URL(body.url).hash.slice(1);
}

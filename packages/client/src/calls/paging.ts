import type { Page } from '../api-types.ts';
import { notTheService } from '../http/errors.ts';
import type { Params, SentHeaders, Transport } from '../http/transport.ts';

export const eventsPath = '/api/audit-logs';

export async function read<T>(
  send: Transport,
  path: string,
  params: Params = [],
  headers: SentHeaders = {},
): Promise<T> {
  return (await send({ method: 'GET', path, params, headers, idempotent: true })) as T;
}

/** A call with an effect, so it is never repeated automatically. */
export async function post<T>(
  send: Transport,
  path: string,
  input: unknown,
  headers: SentHeaders = {},
): Promise<T> {
  const body = JSON.stringify(input);
  return (await send({ method: 'POST', path, body, headers, idempotent: false })) as T;
}

/** Follows `nextCursor` to the end, with unchanged parameters, as the cursor requires. */
export async function* everyItem<T>(
  send: Transport,
  path: string,
  params: Params = [],
  headers: SentHeaders = {},
): AsyncGenerator<T, void, undefined> {
  let page = await readItems<T>(send, path, params, headers);
  for (;;) {
    yield* page.data;
    const { nextCursor } = page.pagination;
    if (nextCursor === null) return;
    const at: Params = [...params, ['cursor', nextCursor]];
    page = await readItems<T>(send, path, at, headers);
  }
}

/** Throws if the answer is not a page; otherwise the list could seem to end, or never end. */
async function readItems<T>(
  send: Transport,
  path: string,
  params: Params,
  headers: SentHeaders,
): Promise<Page<T>> {
  const page = await read<Partial<Page<T>> | null>(send, path, params, headers);
  const { data, pagination } = page ?? {};
  if (Array.isArray(data) && pagination?.nextCursor !== undefined) return { data, pagination };
  throw notTheService(200);
}

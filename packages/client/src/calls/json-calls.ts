import type { Page } from '../api-types.ts';
import { notTheService } from '../http/errors.ts';
import type { Call, Params, SentHeaders, Transport } from '../http/transport.ts';

export const eventsPath = '/api/audit-logs';

export type JsonCalls = ReturnType<typeof jsonCalls>;

/** Calls with JSON, under the same headers. */
export function jsonCalls(send: Transport, headers: SentHeaders = {}) {
  const call = async <T>(method: Call['method'], path: string, more: Partial<Call>) =>
    (await send({ method, path, headers, idempotent: true, ...more })) as T;
  const get = <T>(path: string, params: Params = []) => call<T>('GET', path, { params });
  return {
    get,
    /** Follows `nextCursor` to the end, with unchanged parameters, as the cursor requires. */
    every: <T>(path: string, params: Params = []) => pages<T>(get, path, params),
    /** A call with an effect each time, so it is never repeated automatically. */
    post: <T>(path: string, input?: unknown, more?: Partial<Call>) =>
      call<T>('POST', path, { ...bodyOf(input), idempotent: false, ...more }),
    /** A call that is safe to repeat. */
    put: <T>(method: Call['method'], path: string, input?: unknown) =>
      call<T>(method, path, bodyOf(input)),
    remove: async (path: string) => void (await call('DELETE', path, {})),
  };
}

function bodyOf(input: unknown): Partial<Call> {
  return input === undefined ? {} : { body: JSON.stringify(input) };
}

async function* pages<T>(
  get: <P>(path: string, params: Params) => Promise<P>,
  path: string,
  params: Params,
): AsyncGenerator<T, void, undefined> {
  for (let at = params; ; ) {
    const page = await get<Partial<Page<T>> | null>(path, at);
    const { data, pagination } = page ?? {};
    // Otherwise the list could seem to end, or never end.
    if (!Array.isArray(data) || pagination?.nextCursor === undefined) throw notTheService(200);
    yield* data;
    if (pagination.nextCursor === null) return;
    at = [...params, ['cursor', pagination.nextCursor]];
  }
}

import { listen } from '@indelible/testing/http-receiver';

/** A collector of JSON arrays and NDJSON, by content type. */
export async function genericReceiver() {
  const state = {
    /** The required `Authorization`; null accepts all. */
    authorization: 'Bearer collector-token' as string | null,
    /** Answers everything with this status. */
    trouble: null as number | null,
    events: [] as unknown[],
  };
  const receiver = await listen(({ method, headers, body }) => {
    if (method !== 'POST') return { status: 405 };
    if (state.authorization !== null && headers.authorization !== state.authorization) {
      return { status: 401, body: `who is ${headers.authorization}?` };
    }
    if (state.trouble !== null) return { status: state.trouble, body: 'not now' };
    if (headers['content-type'] === 'application/json') state.events.push(...JSON.parse(body));
    else state.events.push(...linesOf(body).map((line): unknown => JSON.parse(line)));
    return { status: 204 };
  });
  return Object.assign(state, receiver);
}

/** Splits at every Unicode line break, like some line readers. */
const linesOf = (body: string) => body.split(/\r\n|[\n\r\u0085\u2028\u2029]/).filter(Boolean);

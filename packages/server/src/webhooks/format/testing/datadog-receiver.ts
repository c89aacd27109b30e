import { type HttpAnswer, listen, type Received } from '@indelible/testing/http-receiver';

/** A log as Datadog would index it. */
interface DatadogLog {
  /** The official time. */
  date: number;
  attributes: Record<string, unknown>;
}

/**
 * A small logs intake with key check, by Datadog's documentation: request limits, the official time
 * from reserved attributes, and silently dropped logs older than 18 hours.
 */
export async function datadogReceiver(now: () => number) {
  const state = {
    key: '0123456789abcdef0123456789abcdef',
    /** Answers every intake with this status. */
    trouble: null as number | null,
    logs: [] as DatadogLog[],
    dropped: 0,
    truncated: 0,
  };
  const receiver = await listen((request) => {
    const call = `${request.method} ${request.path}`;
    const key = request.headers['dd-api-key'];
    if (call === 'GET /api/v1/validate') {
      const isValid = key === state.key;
      return isValid ? { status: 200, body: { valid: true } } : forbidden('Forbidden');
    }
    if (call !== 'POST /api/v2/logs') return { status: 404, body: { errors: ['Not found'] } };
    if (key === undefined) return problem(401, 'Unauthorized', 'Missing API key');
    if (key !== state.key) return problem(403, 'Forbidden', `API key ${String(key)} is invalid`);
    return state.trouble === null ? take(request) : problem(state.trouble, 'Trouble', 'Try later');
  });

  function take({ body }: Received): HttpAnswer {
    if (Buffer.byteLength(body) > 5_000_000) return problem(413, 'Payload too large', 'above 5MB');
    const logs: Record<string, unknown>[] = JSON.parse(body);
    if (logs.length > 1_000) return problem(413, 'Payload too large', 'more than 1000 logs');
    for (const attributes of logs) {
      if (Buffer.byteLength(JSON.stringify(attributes)) > 1_000_000) state.truncated += 1;
      const stated = attributes.timestamp ?? attributes.date;
      const date = stated === undefined ? now() : Date.parse(String(stated));
      const isInTime = date > now() - 18 * 3_600_000 && date < now() + 2 * 3_600_000;
      if (isInTime) state.logs.push({ date, attributes });
      else state.dropped += 1;
    }
    return { status: 202, body: {} };
  }

  return Object.assign(state, receiver);
}

function problem(status: number, title: string, detail: string): HttpAnswer {
  return { status, body: { errors: [{ status: String(status), title, detail }] } };
}

const forbidden = (word: string): HttpAnswer => ({ status: 403, body: { errors: [word] } });

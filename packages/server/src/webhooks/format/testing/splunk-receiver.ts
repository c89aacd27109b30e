import { type HttpAnswer, listen, type Received } from '@indelible/testing/http-receiver';

/** An event as Splunk would index it. */
interface SplunkEvent {
  time: number;
  host?: string;
  source?: string;
  sourcetype?: string;
  index: string;
  event: unknown;
}

/** A small HTTP Event Collector, by Splunk's documentation: all of a message or nothing. */
export async function splunkReceiver() {
  const state = {
    token: '11111111-2222-4333-8444-555555555555',
    indexes: ['main', 'audit'],
    enabled: true,
    wantsChannel: false,
    /** Queues are full. */
    busy: false,
    events: [] as SplunkEvent[],
  };
  const receiver = await listen((request) => {
    if (/^\/services\/collector\/health(\/1\.0)?$/.test(request.path)) return health(request);
    if (!/^\/services\/collector(\/event(\/1\.0)?)?$/.test(request.path)) return { status: 404 };
    return authorize(request) ?? (state.busy ? busy : take(request));
  });
  const busy = answer(503, 9, 'Server is busy');

  function authorize({ headers }: Received): HttpAnswer | undefined {
    const [scheme, token] = (headers.authorization ?? '').split(' ');
    if (scheme === '') return answer(401, 2, 'Token is required');
    if (scheme !== 'Splunk') return answer(401, 3, 'Invalid authorization');
    if (token !== state.token) return answer(403, 4, 'Invalid token');
    if (!state.enabled) return answer(403, 1, 'Token disabled');
    const channel = headers['x-splunk-request-channel'];
    return state.wantsChannel && !channel ? answer(400, 10, 'Data channel is missing') : undefined;
  }

  function health(request: Received): HttpAnswer {
    if (request.method !== 'GET') return { status: 405 };
    if (request.headers.authorization !== `Splunk ${state.token}`) {
      return answer(400, 21, 'Invalid token');
    }
    if (state.busy) return answer(503, 18, 'HEC is unhealthy, queues are full');
    return answer(200, 17, 'HEC is healthy');
  }

  function take({ body }: Received): HttpAnswer {
    // One envelope a line: the texts of events have no line breaks.
    const taken = body
      .split('\n')
      .map((text): SplunkEvent => ({ index: 'main', ...JSON.parse(text) }));
    const wrong = taken.findIndex(({ index }) => !state.indexes.includes(index));
    if (wrong >= 0) return answer(400, 7, 'Incorrect index', { 'invalid-event-number': wrong });
    state.events.push(...taken);
    return answer(200, 0, 'Success');
  }

  return Object.assign(state, receiver);
}

function answer(status: number, code: number, text: string, more: object = {}): HttpAnswer {
  return { status, body: { text, code, ...more } };
}

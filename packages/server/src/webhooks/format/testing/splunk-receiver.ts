import { type HttpAnswer, listen, type Received } from '../../../testing/http-receiver.ts';

/** An event as Splunk would index it. */
interface SplunkEvent {
  time: number;
  host?: string;
  source?: string;
  sourcetype?: string;
  index: string;
  event: unknown;
}

/**
 * A small HTTP Event Collector, by Splunk's documentation: codes, concatenated envelopes, all of a
 * message or nothing.
 */
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
    if (body.trim() === '') return answer(400, 5, 'No data');
    const taken: SplunkEvent[] = [];
    for (const text of jsonTexts(body)) {
      const at = { 'invalid-event-number': taken.length };
      const envelope = parsed(text);
      if (envelope === undefined) return answer(400, 6, 'Invalid data format', at);
      if (!('event' in envelope)) return answer(400, 12, 'Event field is required', at);
      if (envelope.event === '') return answer(400, 13, 'Event field cannot be blank', at);
      const event = { index: 'main', ...envelope } as SplunkEvent;
      if (!state.indexes.includes(event.index)) return answer(400, 7, 'Incorrect index', at);
      taken.push(event);
    }
    state.events.push(...taken);
    return answer(200, 0, 'Success');
  }

  return Object.assign(state, receiver);
}

function answer(status: number, code: number, text: string, more: object = {}): HttpAnswer {
  return { status, body: { text, code, ...more } };
}

function parsed(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Concatenated JSON texts, with or without space between them. */
function jsonTexts(body: string): string[] {
  const texts: string[] = [];
  let [depth, start, inString] = [0, 0, false];
  for (let at = 0; at < body.length; at += 1) {
    const character = body[at];
    if (inString) {
      if (character === '\\') at += 1;
      else if (character === '"') inString = false;
    } else if (character === '"') inString = true;
    else if (character === '{') depth += 1;
    else if (character === '}') {
      depth -= 1;
      if (depth === 0) {
        texts.push(body.slice(start, at + 1));
        start = at + 1;
      }
    }
  }
  return body.slice(start).trim() === '' ? texts : [...texts, body.slice(start)];
}

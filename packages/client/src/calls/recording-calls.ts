import { batchBytesMax, batchEventsMax } from '@indelible/protocol';
import type { BatchResult, EventInput, RecordedEvent } from '../api-types.ts';
import type { RecordContext } from '../audit-sink.ts';
import {
  createOutgoing,
  type OutgoingEvent,
  type OutgoingOptions,
} from '../event/outgoing-event.ts';
import type { AnyAction, AnyResourceType } from '../event/words.ts';
import { notTheService, PartialBatchError } from '../http/errors.ts';
import type { Transport } from '../http/transport.ts';
import { eventsPath } from './paging.ts';

/**
 * Every call is safe to repeat: an event that has no id gets one before it is sent the first time.
 */
export interface RecordingCalls<A extends string = AnyAction, R extends string = AnyResourceType> {
  /** Records one event; it is durable and found by the next read when this returns. */
  record(event: EventInput<A, R>, context?: RecordContext): Promise<RecordedEvent>;
  /**
   * Records any number of events; results in the order given, one bad event
   * never blocks the others. More than one call takes (1,000 events, 8 MiB)
   * go in several, one after the other. Throws PartialBatchError when a
   * call after the first fails: it says what came of the events before.
   */
  recordBatch(events: readonly EventInput<A, R>[]): Promise<BatchResult[]>;
  /**
   * One call, for events that are JSON text already, each with an id of its own: at most 1,000 and
   * 8 MiB, which is not looked at here. Nothing is masked.
   */
  recordBatchTexts(events: readonly string[]): Promise<BatchResult[]>;
}

// Any other the service would replace by one of its own; and it must not break the call.
const requestIdForm = /^[\w-]{8,64}$/;

export function recordingCalls(send: Transport, options: OutgoingOptions): RecordingCalls {
  const outgoing = createOutgoing(options);
  const post = (path: string, body: string, { requestId }: RecordContext = {}) => {
    const isKept = requestIdForm.test(requestId ?? '');
    const headers = { 'x-request-id': isKept ? requestId : undefined };
    return send({ method: 'POST', path, body, headers, idempotent: true });
  };
  const recordBatchTexts = async (texts: readonly string[]) => {
    const answer = await post(`${eventsPath}/batch`, batchOf(texts));
    return resultsFor(answer, texts.length);
  };
  return {
    record: async (event, context) => {
      const sent = outgoing(event);
      const body = JSON.stringify(sent);
      const answer = (await post(eventsPath, body, context)) as RecordedEvent | null;
      // Only the service can say that it has this event; “OK” from elsewhere would be a lost one.
      if (answer?.id !== sent.id) throw notTheService(200);
      return answer;
    },
    recordBatch: (events) => recordParts(events.map(outgoing), recordBatchTexts),
    recordBatchTexts,
  };
}

const statuses: readonly unknown[] = ['created', 'duplicate', 'rejected'];

/** One result for each event that was sent. Throws when it is anything else. */
function resultsFor(answer: unknown, sent: number): BatchResult[] {
  const { results } = (answer ?? {}) as { results?: unknown };
  const isComplete = Array.isArray(results) && results.length === sent;
  if (isComplete && results.every((each) => statuses.includes(each?.status))) return results;
  throw notTheService(200);
}

const batchStart = '{"events":[';
const batchOf = (texts: readonly string[]) => `${batchStart}${texts.join(',')}]}`;

const bytesMax = batchBytesMax - batchStart.length - 2;

async function recordParts(
  events: readonly OutgoingEvent[],
  recordTexts: RecordingCalls['recordBatchTexts'],
): Promise<BatchResult[]> {
  const results: BatchResult[] = [];
  for (const part of partsOf(events)) {
    const first = results.length;
    try {
      const answer = part.texts === null ? [tooLarge] : await recordTexts(part.texts);
      results.push(...answer.map((result) => ({ ...result, index: first + result.index })));
    } catch (cause) {
      if (first === 0) throw cause;
      throw new PartialBatchError(results, events.slice(first), cause);
    }
  }
  return results;
}

const tooLarge: BatchResult = {
  index: 0,
  status: 'rejected',
  error: { code: 'payload_too_large', detail: 'the event is larger than a call' },
};

/** Consecutive events that fit into one call; null in place of one that fits into none. */
function* partsOf(events: readonly OutgoingEvent[]): Generator<{ texts: string[] | null }> {
  let texts: string[] = [];
  let bytes = 0;
  for (const event of events) {
    const text = JSON.stringify(event);
    const length = utf8.encode(text).length + 1;
    if (texts.length > 0 && (texts.length === batchEventsMax || bytes + length > bytesMax)) {
      yield { texts };
      [texts, bytes] = [[], 0];
    }
    if (length > bytesMax) yield { texts: null };
    else {
      texts.push(text);
      bytes += length;
    }
  }
  if (texts.length > 0) yield { texts };
}

const utf8 = new TextEncoder();

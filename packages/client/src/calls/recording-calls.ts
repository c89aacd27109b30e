import { batchBytesMax, batchEventsMax } from '@indelible/protocol';
import type { BatchResult, EventInput, RecordedEvent } from '../api-types.ts';
import type { RecordContext } from '../audit-sink.ts';
import {
  createOutgoing,
  newEventId,
  type OutgoingEvent,
  type OutgoingOptions,
} from '../event/outgoing-event.ts';
import { TooLongError } from '../event/plain-json.ts';
import type { AnyAction, AnyResourceType } from '../event/words.ts';
import { IndelibleError, notTheService, PartialBatchError } from '../http/errors.ts';
import type { Transport } from '../http/transport.ts';
import { eventsPath } from './json-calls.ts';

/**
 * Every call is safe to retry: an event without an id gets one before the first attempt. If the
 * service refuses it because this machine's clock is fast, and the event has no `timestamp` either,
 * the client sends it once more with an id of the service's time.
 */
export interface RecordingCalls<A extends string = AnyAction, R extends string = AnyResourceType> {
  /** Records one event. When it returns, the event is durable, and the next read finds it. */
  record(event: EventInput<A, R>, context?: RecordContext): Promise<RecordedEvent>;
  /**
   * Records any number of events and returns their results in the same order; a bad event does not
   * block the others. More than 1,000 events or 8 MiB go in several calls, one after the other.
   * Throws PartialBatchError if a call after the first one fails; it holds the results so far.
   */
  recordBatch(events: readonly EventInput<A, R>[]): Promise<BatchResult[]>;
  /**
   * One call with events as JSON text, each with an id: at most 1,000 and 8 MiB, not checked here.
   * Does not mask.
   */
  recordBatchTexts(events: readonly string[], context?: RecordContext): Promise<BatchResult[]>;
}

// The service would replace other ids; a header could not hold some of them.
const requestIdForm = /^[\w-]{8,64}$/;

export function recordingCalls(send: Transport, options: OutgoingOptions): RecordingCalls {
  const outgoing = createOutgoing(options);
  /** Null for an event that is far too large to be sent. */
  const sentOf = (event: EventInput) => {
    try {
      return outgoing(event);
    } catch (cause) {
      if (cause instanceof TooLongError) return null;
      throw cause;
    }
  };
  let serviceAheadMs = 0;
  const onAnswer = (headers: Headers) => {
    const serviceMs = Date.parse(headers.get('date') ?? '');
    if (!Number.isNaN(serviceMs)) serviceAheadMs = serviceMs - Date.now();
  };
  const atServiceTime: Restamp = (event) => ({
    ...event,
    id: newEventId(Date.now() + serviceAheadMs),
  });
  const post = (path: string, body: string, { requestId, ...limits }: RecordContext = {}) => {
    const isKept = requestIdForm.test(requestId ?? '');
    const headers = { 'x-request-id': isKept ? requestId : undefined };
    const call = { method: 'POST', path, body, headers, ...limits, idempotent: true } as const;
    return send({ ...call, answers: hasResults, onAnswer });
  };
  const recordSent = async (sent: OutgoingEvent, context?: RecordContext) => {
    const answer = (await post(eventsPath, JSON.stringify(sent), context)) as RecordedEvent | null;
    // Otherwise `200 OK` from a proxy would count as recorded, and the event would be lost.
    if (answer?.id !== sent.id) throw notTheService(200);
    return answer;
  };
  const recordBatchTexts = async (texts: readonly string[], context?: RecordContext) => {
    const answer = await post(`${eventsPath}/batch`, batchOf(texts), context);
    return resultsFor(answer, texts.length);
  };
  return {
    record: async (event, context) => {
      const sent = sentOf(event);
      if (!sent) throw new IndelibleError({ ...tooLarge, status: 413, requestId: null });
      return recordSent(sent, context).catch((cause) => {
        if (!isAhead(cause) || !hasNoTime(event)) throw cause;
        return recordSent(atServiceTime(sent), context);
      });
    },
    recordBatch: async (events) =>
      recordParts(events, events.map(sentOf), recordBatchTexts, atServiceTime),
    recordBatchTexts,
  };
}

/** The event with an id of the service's time. */
type Restamp = (event: OutgoingEvent) => OutgoingEvent;

const isAhead = (error: unknown) =>
  (error as { code?: unknown } | undefined)?.code === 'timestamp_in_future';

/** Whether the client chose the time of this event. */
const hasNoTime = (event: EventInput | undefined) => event?.id == null && event?.timestamp == null;

/** A batch of which every event was refused. */
const hasResults = (status: number, body: unknown) =>
  status === 422 && Array.isArray((body as { results?: unknown } | null)?.results);

const statuses: readonly unknown[] = ['created', 'duplicate', 'rejected'];

/** One result for each sent event. Throws for any other answer. */
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
  given: readonly EventInput[],
  events: (OutgoingEvent | null)[],
  recordTexts: RecordingCalls['recordBatchTexts'],
  atServiceTime: Restamp,
): Promise<BatchResult[]> {
  const results: BatchResult[] = [];
  let hasAnswer = false;
  const record = async (texts: readonly string[], first: number) => {
    const answer = await recordTexts(texts);
    hasAnswer = true;
    const ahead = answer.filter(
      ({ index, error }) => isAhead(error) && hasNoTime(given[first + index]),
    );
    const again = ahead.map(({ index }) => {
      const sent = atServiceTime(events[first + index] as OutgoingEvent);
      events[first + index] = sent;
      return JSON.stringify(sent);
    });
    const repeated = again.length > 0 ? await recordTexts(again) : [];
    const byIndex = new Map(repeated.map((each) => [ahead[each.index]?.index, each]));
    return answer.map((each) => byIndex.get(each.index) ?? each);
  };
  for (const texts of partsOf(events)) {
    const first = results.length;
    try {
      const answer = texts === null ? [refused] : await record(texts, first);
      results.push(...answer.map((result, at) => ({ ...result, index: first + at })));
    } catch (cause) {
      if (first === 0 && !hasAnswer) throw cause;
      const all = events.map((event, at) => event ?? { id: newEventId(), ...given[at] });
      throw new PartialBatchError(results, all.slice(first) as OutgoingEvent[], cause);
    }
  }
  return results;
}

const tooLarge = { code: 'payload_too_large', detail: 'the event is too large' } as const;
const refused: BatchResult = { index: 0, status: 'rejected', error: tooLarge };

/** Consecutive events that fit into one call; null instead of an event that is too large. */
function* partsOf(events: readonly (OutgoingEvent | null)[]): Generator<string[] | null> {
  let texts: string[] = [];
  let bytes = 0;
  for (const event of events) {
    const text = JSON.stringify(event);
    const length = event === null ? Number.POSITIVE_INFINITY : utf8.encode(text).length + 1;
    if (texts.length > 0 && (texts.length === batchEventsMax || bytes + length > bytesMax)) {
      yield texts;
      [texts, bytes] = [[], 0];
    }
    if (length > bytesMax) yield null;
    else {
      texts.push(text);
      bytes += length;
    }
  }
  if (texts.length > 0) yield texts;
}

const utf8 = new TextEncoder();

import {
  type BoundName,
  boundNames,
  type EventFilter,
  type FilterJson,
  filterToJson,
  timeMsMax,
} from '@indelible/protocol';
import type { FastifyRequest } from 'fastify';

/**
 * What an operator looks at, as the tenant's log says it. It holds all that decides what can be
 * seen, and nothing else: pages, order and grouping of the same events are the same look.
 */
export type Look =
  | { lookedAt: 'events'; filters: FilterJson; withStates?: true }
  | { lookedAt: OtherThing; id?: string };

/** `log`: checkpoints and proofs, or all of its entries and events, as verifying it needs them. */
export type OtherThing =
  | 'event'
  | 'log'
  | 'exports'
  | 'searches'
  | 'restores'
  | 'webhooks'
  | 'alert-rules'
  | 'sessions'
  | 'sources'
  | 'views';

const quarterMs = 15 * 60_000;

/**
 * Events that match a filter. Its times are widened to whole quarters of an hour, because "the last
 * 30 days" are other days at each refresh. So the record covers at least the shown range.
 */
export function lookAtEvents(filter: EventFilter, withStates = false): Look {
  const widened = { ...filter };
  for (const bound of boundNames) {
    const ms = filter[bound];
    if (ms !== undefined) widened[bound] = isEnd(bound) ? quarterAfter(ms) : quarterBefore(ms);
  }
  const filters = filterToJson(widened);
  return { lookedAt: 'events', filters, ...(withStates && { withStates }) };
}

const isEnd = (bound: BoundName) => bound === 'to' || bound === 'receivedTo';
const quarterBefore = (ms: number) => Math.floor(ms / quarterMs) * quarterMs;
const quarterAfter = (ms: number) => Math.min(Math.ceil(ms / quarterMs) * quarterMs, timeMsMax);

/** Something else of the tenant: the one that the path names by `id`, or the list of them. */
export function lookAt(lookedAt: OtherThing, { params }: FastifyRequest): Look {
  const { id } = params as { id?: string };
  return id === undefined ? { lookedAt } : { lookedAt, id: plain(id) };
}

/** Shortened, without characters that the database cannot store. */
function plain(text: string): string {
  return text.replaceAll('\0', '').slice(0, 500).toWellFormed();
}

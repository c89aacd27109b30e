import type { ErasureRecord } from '../verify/service-records.ts';
import { personIds } from './context.ts';
import { type EventBody, type WithholdableSegment, withheldSegments } from './event-body.ts';

interface Hidden {
  segment: WithholdableSegment;
  /** The actor, and for whom it acted; unknown if the context is hidden as well. */
  persons: readonly string[];
  isUnknown: boolean;
  isOperator: boolean;
  lastSequence: number;
  /** By sequence; at most `keptMax` of each. */
  events: Map<number, string>;
  count: number;
}

/** The most events stored one by one; for others, only an actor's erasure is an explanation. */
const keptMax = 100_000;

/**
 * Collects the events that withhold a segment. The log's erasure records explain them at the end.
 */
export class HiddenSegments {
  readonly #hidden = new Map<string, Hidden>();
  #kept = 0;

  take(body: EventBody): void {
    const segments = withheldSegments(body);
    for (const segment of segments) {
      const isUnknown = segment !== 'context' && segments.includes('context');
      this.#add(segment, body.event, isUnknown);
    }
  }

  #add(segment: WithholdableSegment, event: EventBody['event'], isUnknown: boolean): void {
    const { actorRole, sequence, id } = event;
    const isOperator = actorRole === 'superadmin';
    const persons = personIds(event);
    const key = `${segment} ${persons.join()} ${isUnknown} ${isOperator}`;
    const hidden = this.#hidden.get(key) ?? {
      ...{ segment, persons, isUnknown, isOperator, lastSequence: -1, count: 0 },
      events: new Map(),
    };
    this.#hidden.set(key, hidden);
    hidden.count += 1;
    hidden.lastSequence = Math.max(hidden.lastSequence, sequence);
    if (this.#kept >= keptMax) return;
    hidden.events.set(sequence, id);
    this.#kept += 1;
  }

  /** The number of events that withhold a segment without an erasure. */
  unexplained(segment: WithholdableSegment, erasures: readonly ErasureRecord[]): number {
    const own = erasures.filter((each) => each.segment === segment);
    let count = 0;
    for (const hidden of this.#hidden.values()) {
      if (hidden.segment === segment) count += unexplainedOf(hidden, own);
    }
    return count;
  }

  /** The number of events explained by erasures, and the sequences of those records. */
  erased(segment: WithholdableSegment, erasures: readonly ErasureRecord[]): ErasedSegment {
    const own = erasures.filter((each) => each.segment === segment);
    let events = 0;
    const records = new Set<number>();
    for (const hidden of this.#hidden.values()) {
      if (hidden.segment !== segment) continue;
      events += hidden.count - unexplainedOf(hidden, own);
      for (const each of own) if (concerns(each, hidden)) records.add(each.sequence);
    }
    return { events, records: [...records].sort((a, b) => a - b) };
  }
}

/** Events with an erased segment, and the sequences of the erasure records. */
export interface ErasedSegment {
  events: number;
  records: number[];
}

function concerns(erasure: ErasureRecord, hidden: Hidden): boolean {
  if (namesActor(erasure, hidden)) return true;
  return [...hidden.events.values()].some((id) => erasure.events.has(id));
}

/** An actor's erasure does not cover operators. */
function namesActor({ actors }: ErasureRecord, { persons, isUnknown, isOperator }: Hidden) {
  if (isOperator) return false;
  return isUnknown ? actors.size > 0 : persons.some((id) => actors.has(id));
}

/** An erasure of events names each event. */
function unexplainedOf(hidden: Hidden, erasures: readonly ErasureRecord[]): number {
  const { events, count } = hidden;
  const ofActor = erasures.filter((each) => namesActor(each, hidden));
  const sizeMax = ofActor.reduce((most, { size }) => Math.max(most, size), 0);
  if (hidden.lastSequence < sizeMax) return 0;
  const isErased = (sequence: number, id: string) =>
    sequence < sizeMax || erasures.some((each) => sequence < each.size && each.events.has(id));
  let explained = 0;
  for (const [sequence, id] of events) if (isErased(sequence, id)) explained += 1;
  return count - explained;
}

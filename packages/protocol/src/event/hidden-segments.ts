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
      segment,
      persons,
      isUnknown,
      isOperator,
      lastSequence: -1,
      count: 0,
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
    const known = explanationsBy(segment, erasures);
    return this.#of(segment).reduce((sum, hidden) => sum + unexplainedOf(hidden, known), 0);
  }

  /** The number of events explained by erasures, and the sequences of those records. */
  erased(segment: WithholdableSegment, erasures: readonly ErasureRecord[]): ErasedSegment {
    const known = explanationsBy(segment, erasures);
    let events = 0;
    const used = new Set<Explanation>();
    for (const hidden of this.#of(segment)) {
      events += hidden.count - unexplainedOf(hidden, known);
      for (const each of ofActors(hidden, known)) used.add(each);
      for (const id of hidden.events.values()) {
        const ofEvent = known.events.get(id);
        if (ofEvent) used.add(ofEvent);
      }
    }
    const records = new Set([...used].flatMap((each) => each.records));
    return { events, records: [...records].sort((a, b) => a - b) };
  }

  #of(segment: WithholdableSegment): Hidden[] {
    return [...this.#hidden.values()].filter((hidden) => hidden.segment === segment);
  }
}

/** Events with an erased segment, and the sequences of the erasure records. */
export interface ErasedSegment {
  events: number;
  records: number[];
}

/** The erasures that name one actor or event: it is erased below this size. */
interface Explanation {
  size: number;
  records: number[];
}

/** By the named: a log may record as many erasures as it has erased events. */
function explanationsBy(segment: string, erasures: readonly ErasureRecord[]) {
  const nothing = (): Explanation => ({ size: 0, records: [] });
  const known = {
    anyActor: nothing(),
    actors: new Map<string, Explanation>(),
    events: new Map<string, Explanation>(),
  };
  for (const { sequence, size, ...erasure } of erasures) {
    if (erasure.segment !== segment) continue;
    const add = (explanation: Explanation) => {
      explanation.size = Math.max(explanation.size, size);
      explanation.records.push(sequence);
      return explanation;
    };
    if (erasure.actors.size > 0) add(known.anyActor);
    for (const id of erasure.actors) known.actors.set(id, add(known.actors.get(id) ?? nothing()));
    for (const id of erasure.events) known.events.set(id, add(known.events.get(id) ?? nothing()));
  }
  return known;
}

type Explanations = ReturnType<typeof explanationsBy>;

/** An actor's erasure does not cover operators. */
function ofActors({ persons, isUnknown, isOperator }: Hidden, known: Explanations): Explanation[] {
  if (isOperator) return [];
  return isUnknown ? [known.anyActor] : persons.flatMap((id) => known.actors.get(id) ?? []);
}

/** An erasure of events names each event. */
function unexplainedOf(hidden: Hidden, known: Explanations): number {
  const { events, count, lastSequence } = hidden;
  const size = ofActors(hidden, known).reduce((most, each) => Math.max(most, each.size), 0);
  if (lastSequence < size) return 0;
  let explained = 0;
  for (const [sequence, id] of events)
    if (sequence < Math.max(size, known.events.get(id)?.size ?? 0)) explained += 1;
  return count - explained;
}

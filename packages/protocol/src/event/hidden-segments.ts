import type { ErasureRecord } from '../verify/service-records.ts';
import { type EventBody, type WithholdableSegment, withheldSegments } from './event-body.ts';

interface Hidden {
  segment: WithholdableSegment;
  actorId: string;
  isOperator: boolean;
  lastSequence: number;
  /** By sequence; only the first of each, see `keptMax`. */
  events: Map<number, string>;
  count: number;
}

/** Events that are remembered one by one; of more, only whole erasures of an actor explain any. */
const keptMax = 100_000;

/**
 * Which events keep a segment back, so that the log's
 * records of erasures can explain it in the end.
 */
export class HiddenSegments {
  readonly #hidden = new Map<string, Hidden>();
  #kept = 0;

  take(body: EventBody): void {
    for (const segment of withheldSegments(body)) this.#add(segment, body.event);
  }

  #add(segment: WithholdableSegment, event: EventBody['event']): void {
    const { actorId, actorRole, sequence, id } = event;
    const isOperator = actorRole === 'superadmin';
    const key = `${segment} ${actorId} ${isOperator}`;
    const hidden = this.#hidden.get(key) ?? {
      ...{ segment, actorId, isOperator, lastSequence: -1, count: 0 },
      events: new Map(),
    };
    this.#hidden.set(key, hidden);
    hidden.count += 1;
    hidden.lastSequence = Math.max(hidden.lastSequence, sequence);
    if (this.#kept >= keptMax) return;
    hidden.events.set(sequence, id);
    this.#kept += 1;
  }

  /** How many events keep a segment back that no erasure explains. */
  unexplained(segment: WithholdableSegment, erasures: readonly ErasureRecord[]): number {
    const own = erasures.filter((each) => each.segment === segment);
    let count = 0;
    for (const hidden of this.#hidden.values()) {
      if (hidden.segment === segment) count += unexplainedOf(hidden, own);
    }
    return count;
  }

  /** How many of them erasures explain, and by which records of the log: their sequences. */
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

/** Events of which a segment was erased, and the sequences of the records that say so. */
export interface ErasedSegment {
  events: number;
  records: number[];
}

function concerns({ actors, events }: ErasureRecord, { actorId, isOperator, ...hidden }: Hidden) {
  if (!isOperator && actors.has(actorId)) return true;
  return [...hidden.events.values()].some((id) => events.has(id));
}

/** An erasure of an actor leaves operators aside; one of events names each. */
function unexplainedOf(hidden: Hidden, erasures: readonly ErasureRecord[]): number {
  const { actorId, isOperator, events, count } = hidden;
  const ofActor = erasures.filter(({ actors }) => !isOperator && actors.has(actorId));
  const sizeMax = Math.max(0, ...ofActor.map(({ size }) => size));
  if (hidden.lastSequence < sizeMax) return 0;
  const isErased = (sequence: number, id: string) =>
    sequence < sizeMax || erasures.some((each) => sequence < each.size && each.events.has(id));
  let explained = 0;
  for (const [sequence, id] of events) if (isErased(sequence, id)) explained += 1;
  return count - explained;
}

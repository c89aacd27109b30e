import type { AlertGroup, AlertRuleSettings } from '@indelible/protocol';

/*
 * The findings of a rule, from the events that match it, one after the other. The same code
 * evaluates new events and the events of a test. All that an evaluator remembers can be read from
 * the log again (`recall.store.ts`), so nothing of it is stored.
 */

/** What evaluators know of an event. */
export interface Candidate {
  uuid: string;
  sequence: number;
  atMs: number;
  actorId: string;
  actorIp: string | null;
  resourceType: string;
  resourceId: string;
  /** Matches what a threshold's events must be followed by, and does not count itself. */
  follows?: boolean;
}

export type Seen = Pick<Candidate, 'uuid' | 'sequence'>;

/** A finding. `atMs` is the time of the event that completed it. */
export interface Finding {
  atMs: number;
  group: string | null;
  /** How many events; `events` has the last ones of them. */
  count: number;
  events: Seen[];
  /** For `first_seen`: an alert only if this actor is not new altogether. */
  ofActor?: string;
}

/** One rule's view of the events so far. */
export interface Evaluator {
  take(event: Candidate): Finding | null;
  /** How much it remembers. */
  size(): number;
}

/** An evaluator that needs earlier events. */
export interface Learner extends Evaluator {
  /** The key that `learn` must explain before this event is taken; null for none. */
  unknown(event: Candidate): string | null;
}

export const minuteMs = 60_000;
export const hourMs = 60 * minuteMs;
export const dayMs = 24 * hourMs;
const weekMs = 7 * dayMs;

/** An alert names this number of events at most. */
const eventsNamedMax = 100;

const seen = ({ uuid, sequence }: Candidate): Seen => ({ uuid, sequence });

/** Each matching event is a finding. */
export const matchEvaluator: Evaluator = {
  take: (event) => ({ atMs: event.atMs, group: event.actorId, count: 1, events: [seen(event)] }),
  size: () => 0,
};

/** Null: the event belongs to no group, because it has no address. */
function groupOf(event: Candidate, groupBy: AlertGroup | undefined): string | null {
  if (groupBy === undefined) return '';
  if (groupBy === 'actor') return event.actorId;
  return groupBy === 'resource' ? event.resourceId : event.actorIp;
}

interface Timed extends Seen {
  atMs: number;
}

/**
 * `count` events of a group within the window, then the event that must follow, if one must. After
 * a finding the group is quiet for a window: these events count neither for it nor for the next
 * one.
 */
export class ThresholdEvaluator implements Learner {
  readonly #count: number;
  readonly #windowMs: number;
  readonly #groupBy: AlertGroup | undefined;
  readonly #isFollowed: boolean;
  readonly #groups = new Map<string, Timed[]>();
  readonly #quietUntil = new Map<string, number>();

  constructor({ count = 2, windowMinutes = 1, groupBy, followedBy }: AlertRuleSettings) {
    this.#count = count;
    this.#isFollowed = followedBy !== undefined;
    this.#windowMs = windowMinutes * minuteMs;
    this.#groupBy = groupBy;
  }

  unknown(event: Candidate): string | null {
    const group = groupOf(event, this.#groupBy);
    return group === null || this.#groups.has(group) ? null : group;
  }

  /** The group's earlier events in the order of the log; `foundMs`: when its last alert was. */
  learn(group: string, earlier: readonly Timed[], foundMs: number | undefined): void {
    if (foundMs !== undefined) this.#quietUntil.set(group, foundMs + this.#windowMs);
    this.#groups.set(group, []);
    for (const event of earlier.slice(-this.#count)) this.#add(group, event);
  }

  take(event: Candidate): Finding | null {
    const group = groupOf(event, this.#groupBy);
    if (group === null) return null;
    const { atMs, follows = false } = event;
    const timed = { ...seen(event), atMs };
    const within = follows ? [...this.#within(group, atMs), timed] : this.#add(group, timed);
    const needed = this.#isFollowed ? this.#count + 1 : this.#count;
    if (within.length < needed || follows !== this.#isFollowed) return null;
    const known = this.#groups.get(group) ?? [];
    const apart = known.filter((each) => !this.#isNear(each, atMs));
    this.#groups.set(group, apart);
    this.#quietUntil.set(group, atMs + this.#windowMs);
    const events = within.slice(-eventsNamedMax).map(({ uuid, sequence }) => ({ uuid, sequence }));
    return { atMs, group: group || null, count: within.length, events };
  }

  size(): number {
    return this.#groups.size + this.#quietUntil.size;
  }

  /** The events that count together with this one. */
  #add(group: string, event: Timed): Timed[] {
    if (event.atMs < (this.#quietUntil.get(group) ?? Number.NEGATIVE_INFINITY)) return [];
    const known = this.#groups.get(group) ?? [];
    known.push(event);
    this.#groups.set(group, known);
    // Fewer are no finding, however old: looking for old ones each time would take long.
    if (known.length < this.#count) return known;
    // Events of an hour before may count together with an event that comes late.
    const sinceMs = event.atMs - this.#windowMs - hourMs;
    const kept = known.filter(({ atMs }) => atMs > sinceMs).slice(-2 * this.#count);
    this.#groups.set(group, kept);
    return this.#within(group, event.atMs).slice(-this.#count);
  }

  #within(group: string, atMs: number): Timed[] {
    return (this.#groups.get(group) ?? []).filter((each) => this.#isNear(each, atMs));
  }

  /** Near also counts a later event, for an event that comes late. */
  #isNear(event: Timed, atMs: number): boolean {
    return Math.abs(event.atMs - atMs) < this.#windowMs;
  }
}

/** The network of an address: the first 24 bits of IPv4, 48 of IPv6. */
export function networkOf(ip: string): string {
  if (!ip.includes(':')) return `${ip.split('.').slice(0, 3).join('.')}.0/24`;
  const [head = ''] = ip.split('::');
  const groups = head.split(':').filter((group) => group !== '');
  const [a = '0', b = '0', c = '0'] = groups;
  return `${a}:${b}:${c}::/48`;
}

/** What `first_seen` has to know of an event; null without an address. */
function novelty(event: Candidate, groupBy: AlertGroup | undefined): string | null {
  if (groupBy === 'resource') return event.resourceId;
  if (groupBy === 'ip') return event.actorIp === null ? null : networkOf(event.actorIp);
  return event.resourceType;
}

/** The actor has not matched with this value within the lookback. */
export class FirstSeenEvaluator implements Learner {
  readonly #groupBy: AlertGroup | undefined;
  readonly #lookbackMs: number;
  readonly #lastMs = new Map<string, number>();

  constructor({ groupBy, lookbackDays = 30 }: AlertRuleSettings) {
    this.#groupBy = groupBy;
    this.#lookbackMs = lookbackDays * dayMs;
  }

  unknown(event: Candidate): string | null {
    const key = this.#key(event);
    return key === null || this.#lastMs.has(key) ? null : key;
  }

  /** When the actor last matched with the value; null: not within the lookback. */
  learn(key: string, lastMs: number | null): void {
    this.#lastMs.set(key, lastMs ?? Number.NEGATIVE_INFINITY);
  }

  take(event: Candidate): Finding | null {
    const key = this.#key(event);
    if (key === null) return null;
    const lastMs = this.#lastMs.get(key) ?? Number.NEGATIVE_INFINITY;
    this.#lastMs.set(key, Math.max(lastMs, event.atMs));
    if (event.atMs - lastMs <= this.#lookbackMs) return null;
    const { atMs, actorId } = event;
    return { atMs, group: key, count: 1, events: [seen(event)], ofActor: actorId };
  }

  size(): number {
    return this.#lastMs.size;
  }

  #key(event: Candidate): string | null {
    const value = novelty(event, this.#groupBy);
    return value === null ? null : `${event.actorId} ${value}`;
  }
}

/** What is known of an actor's hours. */
interface Hours {
  /** When the actor first matched within the lookback; null: never. */
  sinceMs: number | null;
  /** Matching events by the beginning of the hour (UTC). */
  counts: Map<number, number>;
}

/** An actor without this much history has no usual rate. */
const historyMs = 2 * weekMs;
/** A deviation of normally distributed counts is 1.4826 times their median deviation. */
const deviations = 6 * 1.4826;

/** Far more matching events of an actor in an hour than in the same hour of the weeks before. */
export class UnusualRateEvaluator implements Learner {
  readonly #floor: number;
  readonly #weeks: number;
  readonly #actors = new Map<string, Hours>();
  readonly #foundIn = new Map<string, number>();
  #size = 0;

  constructor({ count = 50, lookbackDays = 28 }: AlertRuleSettings) {
    this.#floor = count;
    this.#weeks = Math.floor(lookbackDays / 7);
  }

  unknown({ actorId, atMs }: Candidate): string | null {
    const hour = hourOf(atMs);
    return this.#actors.get(actorId)?.counts.has(hour) ? null : `${actorId} ${hour}`;
  }

  /** All hours that `hoursBefore` names; `foundMs`: when the actor's last alert was. */
  learn(actorId: string, hours: Hours, foundMs: number | undefined): void {
    const known = this.#actors.get(actorId);
    if (known) for (const [hour, count] of hours.counts) known.counts.set(hour, count);
    this.#actors.set(actorId, known ?? hours);
    if (foundMs !== undefined) this.#foundIn.set(actorId, hourOf(foundMs));
    this.#size += hours.counts.size;
  }

  /** The hours that are compared with that of `atMs`, itself included. */
  hoursBefore(atMs: number): number[] {
    return Array.from({ length: this.#weeks + 1 }, (_, week) => hourOf(atMs) - week * weekMs);
  }

  take(event: Candidate): Finding | null {
    const { actorId, atMs } = event;
    const hour = hourOf(atMs);
    const known = this.#actors.get(actorId) ?? { sinceMs: null, counts: new Map() };
    this.#actors.set(actorId, known);
    known.sinceMs ??= atMs;
    const count = (known.counts.get(hour) ?? 0) + 1;
    if (count === 1) this.#size += 1;
    known.counts.set(hour, count);
    if (count < this.#floor || this.#foundIn.get(actorId) === hour) return null;
    if (atMs - known.sinceMs < historyMs || count < this.#limit(known, hour)) return null;
    this.#foundIn.set(actorId, hour);
    return { atMs, group: actorId, count, events: [seen(event)] };
  }

  size(): number {
    return this.#size;
  }

  /** From this count on the hour is unusual: also twice the usual one, for very even counts. */
  #limit({ counts }: Hours, hour: number): number {
    const before = this.hoursBefore(hour).slice(1);
    const usual = before.map((each) => counts.get(each) ?? 0);
    const middle = median(usual);
    const deviation = median(usual.map((each) => Math.abs(each - middle)));
    return Math.max(this.#floor, 2 * middle, middle + deviations * deviation);
  }
}

export const hourOf = (ms: number) => Math.floor(ms / hourMs) * hourMs;

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  const [low = 0, high = 0] = [sorted[Math.ceil(middle) - 1], sorted[Math.floor(middle)]];
  return (low + high) / 2;
}

/** No event has matched for a window; once, until the next match. */
export class SilenceEvaluator implements Evaluator {
  readonly #windowMs: number;
  #sinceMs: number;
  #last: Seen[] = [];
  #isTold = false;

  /** The silence begins at `sinceMs` unless an event matches. */
  constructor({ windowMinutes = 5 }: AlertRuleSettings, sinceMs: number) {
    this.#windowMs = windowMinutes * minuteMs;
    this.#sinceMs = sinceMs;
  }

  /** The finding before this event, if it ends a silence. */
  take(event: Candidate): Finding | null {
    const before = this.until(event.atMs);
    this.#sinceMs = Math.max(this.#sinceMs, event.atMs);
    this.#last = [seen(event)];
    this.#isTold = false;
    return before;
  }

  /** The finding at this moment. */
  until(nowMs: number): Finding | null {
    const atMs = this.endsMs;
    if (this.#isTold || nowMs < atMs) return null;
    this.#isTold = true;
    return { atMs, group: null, count: 0, events: this.#last };
  }

  /** When there is a finding if no further event matches. */
  get endsMs(): number {
    return this.#sinceMs + this.#windowMs;
  }

  size(): number {
    return 0;
  }
}

/** A rule raises this number of alerts in an hour at most; further findings are dropped. */
const alertsPerHourMax = 60;

/**
 * Whether a finding is an alert: keeps a rule that matches everything from filling the log.
 * `earlier` are the times of the events of earlier alerts.
 */
export function alertLimit(earlier: readonly number[] = []): (finding: Finding) => boolean {
  let times = [...earlier];
  return ({ atMs }) => {
    times = times.filter((each) => each > atMs - hourMs);
    if (times.length >= alertsPerHourMax) return false;
    times.push(atMs);
    return true;
  };
}

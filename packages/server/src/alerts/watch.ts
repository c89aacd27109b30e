import { type AlertRuleSettings, futureMsMax } from '@indelible/protocol';
import {
  alertLimit,
  type Candidate,
  dayMs,
  type Evaluator,
  type Finding,
  FirstSeenEvaluator,
  hourMs,
  type Learner,
  matchEvaluator,
  minuteMs,
  ThresholdEvaluator,
  UnusualRateEvaluator,
} from './evaluate.ts';
import {
  actorsSeen,
  alertsSince,
  type Before,
  countsInHours,
  earlierOf,
  firstMatches,
  lastSeen,
  lateMs,
} from './recall.store.ts';

/** An evaluator that asks the log for what it does not know. */
export interface Watch {
  evaluator: Evaluator;
  /** Whether a finding is an alert. */
  isAlert: ReturnType<typeof alertLimit>;
  /** Makes it know what it needs for these events. */
  recall(before: Before, events: readonly Candidate[]): Promise<void>;
}

/** Evaluators that remember more begin again: they read what they need. */
export const rememberedMax = 200_000;

/** The evaluator of a kind whose findings come from events, for events of any time. */
export function newEvaluator(settings: AlertRuleSettings): Evaluator {
  const { kind } = settings;
  if (kind === 'threshold') return new ThresholdEvaluator(settings);
  if (kind === 'first_seen') return new FirstSeenEvaluator(settings);
  if (kind === 'unusual_rate') return new UnusualRateEvaluator(settings);
  return matchEvaluator;
}

/** Where the evaluation began that has seen every event since. */
export interface Opened {
  sequence: number;
  nowMs: number;
}

/** Continues a rule's evaluation at any sequence of the log. */
export async function openWatch(
  rule: { id: string; settings: AlertRuleSettings; fromSequence: number },
  visible: Before['visible'],
  opened: Opened,
  nowMs: number,
): Promise<Watch> {
  const { settings, id } = rule;
  const spanMs = Math.max(hourMs, (settings.windowMinutes ?? 0) * minuteMs);
  const alerts = (await alertsSince(visible, id, nowMs - lateMs - spanMs)).map(readAlert);
  const isAlert = alertLimit(alerts.map(({ atMs }) => atMs));
  const foundMs = new Map(alerts.map(({ group, atMs }) => [group, atMs]));
  const evaluator = newEvaluator(settings);
  const none = { evaluator, isAlert, recall: async () => {} };
  if (evaluator instanceof ThresholdEvaluator) {
    return { ...none, recall: recallEarlier(evaluator, rule, opened, foundMs) };
  }
  if (evaluator instanceof FirstSeenEvaluator) {
    return { ...none, recall: recallSeen(evaluator, settings) };
  }
  if (evaluator instanceof UnusualRateEvaluator) {
    return { ...none, recall: recallHours(evaluator, settings, foundMs) };
  }
  return none;
}

/** Reads the group and time from the state of an alert. */
function readAlert(after: string): { group: string; atMs: number } {
  const { at, group } = JSON.parse(after) as { at: string; group: Record<string, string> };
  return { atMs: Date.parse(at), group: Object.values(group)[0] ?? '' };
}

/** The keys that it does not know, each with its first event. */
function unknownIn(evaluator: Learner, events: readonly Candidate[]): Map<string, Candidate> {
  const unknown = new Map<string, Candidate>();
  for (const event of events) {
    const key = evaluator.unknown(event);
    if (key !== null && !unknown.has(key)) unknown.set(key, event);
  }
  return unknown;
}

const columns = { actor: 'actor_id', resource: 'resource_id', ip: 'actor_ip' } as const;

function recallEarlier(
  evaluator: ThresholdEvaluator,
  { settings, fromSequence }: { settings: AlertRuleSettings; fromSequence: number },
  opened: Opened,
  foundMs: ReadonlyMap<string, number>,
): Watch['recall'] {
  const { groupBy, windowMinutes = 1, count = 2 } = settings;
  const column = groupBy ? columns[groupBy] : null;
  return async (before, events) => {
    const unknown = [...unknownIn(evaluator, events).keys()];
    if (unknown.length === 0) return;
    const oldest = Math.min(...events.map(({ atMs }) => atMs));
    const sinceMs = oldest - lateMs - windowMinutes * minuteMs;
    // There is nothing to read of a group that this process would have seen.
    const hasSeenAll = fromSequence >= opened.sequence || sinceMs >= opened.nowMs + futureMsMax;
    const limits = { fromSequence, sinceMs, count };
    const earlier = hasSeenAll ? [] : await earlierOf(before, column, unknown, limits);
    const byGroup = Map.groupBy(earlier, ({ group }) => group);
    for (const group of unknown) {
      evaluator.learn(group, byGroup.get(group) ?? [], foundMs.get(group));
    }
  };
}

function recallSeen(
  evaluator: FirstSeenEvaluator,
  { groupBy = 'actor', lookbackDays = 30 }: AlertRuleSettings,
): Watch['recall'] {
  return async (before, events) => {
    const keys = [...unknownIn(evaluator, events).keys()];
    if (keys.length === 0) return;
    const pairs = keys.map((key) => {
      const [actor = '', value = ''] = key.split(' ');
      return { actor, value };
    });
    const sinceMs = Math.min(...events.map(({ atMs }) => atMs)) - lookbackDays * dayMs;
    const last = await lastSeen(before, groupBy, pairs, sinceMs);
    for (const [at, key] of keys.entries()) evaluator.learn(key, last[at] ?? null);
  };
}

function recallHours(
  evaluator: UnusualRateEvaluator,
  { lookbackDays = 28 }: AlertRuleSettings,
  foundMs: ReadonlyMap<string, number>,
): Watch['recall'] {
  return async (before, events) => {
    const unknown = [...unknownIn(evaluator, events).values()];
    if (unknown.length === 0) return;
    const asked = unknown.flatMap(({ actorId, atMs }) =>
      evaluator.hoursBefore(atMs).map((hour) => ({ actor: actorId, hourMs: hour })),
    );
    const sinceMs = Math.min(...unknown.map(({ atMs }) => atMs)) - lookbackDays * dayMs;
    const actors = unknown.map(({ actorId }) => actorId);
    const [counts, first] = await Promise.all([
      countsInHours(before, asked),
      firstMatches(before, actors, sinceMs),
    ]);
    for (const [at, { actorId }] of unknown.entries()) {
      const ofActor = asked.flatMap(({ actor, hourMs: hour }, n): [number, number][] =>
        actor === actorId ? [[hour, counts[n] ?? 0]] : [],
      );
      const hours = { sinceMs: first[at] ?? null, counts: new Map(ofActor) };
      evaluator.learn(actorId, hours, foundMs.get(actorId));
    }
  };
}

/**
 * Without those of actors who are new altogether: everything is the first time for them. Known is
 * an actor with an event of at least a day before, within the lookback.
 */
export async function ofKnownActors(
  visible: Before['visible'],
  { lookbackDays = 30 }: AlertRuleSettings,
  findings: readonly Finding[],
): Promise<Finding[]> {
  const asked = findings.flatMap(({ ofActor, atMs }) =>
    ofActor === undefined
      ? []
      : [{ actor: ofActor, fromMs: atMs - lookbackDays * dayMs, toMs: atMs - dayMs }],
  );
  if (asked.length === 0) return [...findings];
  const areKnown = await actorsSeen(visible, asked);
  // All findings of a rule have an actor, or none.
  return findings.filter((_finding, at) => areKnown[at]);
}

import {
  type AlertRuleSettings,
  type EventFilter,
  eventIdFromUuid,
  formatTimestamp,
  nilUuid,
} from '@indelible/protocol';
import type { Visibility } from '../events/filter-sql.store.ts';
import { readShown } from '../events/store.ts';
import { AppError, unavailable } from '../http/problem.ts';
import type { Parts } from '../parts.ts';
import { readAhead } from '../postgres/read-ahead.ts';
import { groupShown } from './alert-event.ts';
import {
  alertLimit,
  type Candidate,
  dayMs,
  type Evaluator,
  type Finding,
  hourMs,
  minuteMs,
  SilenceEvaluator,
} from './evaluate.ts';
import { candidatesAfter } from './recall.store.ts';
import { ruleFilter } from './rule.ts';
import { newEvaluator, ofKnownActors } from './watch.ts';

/** A range of event times in milliseconds; the end is excluded. */
export interface TestRange {
  sinceMs: number;
  untilMs: number;
}

const pageEvents = 20_000;
/** A page's time span grows while one takes less than this. */
const pageMs = 500;
const spanMsMax = 64 * dayMs;
/** The newest of the alerts, and the events of each, that an answer shows. */
const alertsShownMax = 500;
const eventsShownMax = 10;

/** The tests that run in a process, which share its memory. */
export interface RunningTests {
  evaluators: Set<Evaluator>;
  /** How much all of them may remember. */
  rememberedMax: number;
}

/** About half a gigabyte of memory. */
export const runningTests = (rememberedMax = 3_000_000): RunningTests => ({
  evaluators: new Set(),
  rememberedMax,
});

/**
 * The alerts that a rule would have raised in the range, as if each event had been received at its
 * time. The same evaluators as for new events run over the events in the order of their times. Days
 * are of UTC. Throws `conflict` if the rule has to remember too much, `unavailable` if it is too
 * much beside others in `running`.
 */
export async function testRule(
  { db, now, running }: Pick<Parts, 'db' | 'now'> & { running: RunningTests },
  tenantId: string,
  settings: AlertRuleSettings,
  { sinceMs, untilMs }: TestRange,
  gone?: AbortSignal,
) {
  const filter = ruleFilter(settings.filters, tenantId);
  const following = settings.followedBy && ruleFilter(settings.followedBy, tenantId);
  const isSilence = settings.kind === 'silence';
  const ended = new AbortController();
  const reading = AbortSignal.any([ended.signal, ...(gone ? [gone] : [])]);
  const evaluator = isSilence ? new SilenceEvaluator(settings, sinceMs) : newEvaluator(settings);
  const tally = tallyOf(settings, { sinceMs, untilMs });
  let matched = 0;
  const inTenant = <T>(work: (visible: Visibility) => T | Promise<T>) =>
    readShown(db, tenantId, now(), work, reading);
  const read: ReadPage = (range, after) =>
    inTenant(async (visible) => {
      const pageOf = (each: EventFilter) =>
        candidatesAfter({ ...each, ...range }, visible, after, pageEvents);
      const counting = await pageOf(filter);
      return following ? together(counting, await pageOf(following)) : counting;
    });
  running.evaluators.add(evaluator);
  try {
    const pages = pagesOf(read, firstMs(settings, sinceMs), untilMs);
    for await (const events of readAhead(pages, 1)) {
      gone?.throwIfAborted();
      const found = takeAll(evaluator, events, running);
      matched += events.filter(({ atMs, follows }) => atMs >= sinceMs && !follows).length;
      const isFirstSeen = found.some(({ ofActor }) => ofActor !== undefined);
      const known = () => inTenant((visible) => ofKnownActors(visible, settings, found));
      tally.add(isFirstSeen ? await known() : found);
    }
    if (evaluator instanceof SilenceEvaluator) {
      const last = evaluator.until(Math.min(untilMs, now()));
      tally.add(last ? [last] : []);
    }
    return { ...tally.answer(), matched };
  } finally {
    running.evaluators.delete(evaluator);
    ended.abort(); // the page that is read in advance
  }
}

/** All events that such a test may show; of a rule with `followedBy` any of its times. */
export function testedEvents(
  settings: AlertRuleSettings,
  tenantId: string,
  { sinceMs, untilMs }: TestRange,
): EventFilter {
  const filter = settings.followedBy ? {} : ruleFilter(settings.filters, tenantId);
  return { ...filter, from: firstMs(settings, sinceMs), to: untilMs };
}

/** The time of the first event that a rule remembers at `sinceMs`. */
function firstMs({ lookbackDays = 0, windowMinutes = 0 }: AlertRuleSettings, sinceMs: number) {
  return Math.max(0, sinceMs - lookbackDays * dayMs - windowMinutes * minuteMs);
}

/** The first page of both; an event that counts is not one that follows. */
function together(counting: readonly Candidate[], following: readonly Candidate[]): Candidate[] {
  const all = new Map(following.map((each) => [each.uuid, { ...each, follows: true }]));
  for (const each of counting) all.set(each.uuid, { ...each, follows: false });
  return [...all.values()].sort((a, b) => (a.uuid < b.uuid ? -1 : 1)).slice(0, pageEvents);
}

type ReadPage = (range: { from: number; to: number }, after: string) => Promise<Candidate[]>;

/** The matching events by time. A statement reads a span of time in which few match, not years. */
async function* pagesOf(read: ReadPage, fromMs: number, untilMs: number) {
  let after = nilUuid; // before all ids
  let spanMs = hourMs;
  for (let at = fromMs; at < untilMs; ) {
    const began = performance.now();
    const to = Math.min(at + spanMs, untilMs);
    const page = await read({ from: at, to }, after);
    const last = page.length === pageEvents ? page.at(-1) : undefined;
    at = last?.atMs ?? to;
    after = last?.uuid ?? after;
    const isQuick = performance.now() - began < pageMs;
    spanMs = isQuick ? Math.min(2 * spanMs, spanMsMax) : Math.max(hourMs, spanMs / 2);
    yield page;
  }
}

function takeAll(
  evaluator: Evaluator,
  events: readonly Candidate[],
  { evaluators, rememberedMax }: RunningTests,
): Finding[] {
  const found = events.flatMap((event) => evaluator.take(event) ?? []);
  const all = [...evaluators].reduce((sum, each) => sum + each.size(), 0);
  if (all <= rememberedMax) return found;
  if (evaluator.size() <= rememberedMax)
    throw unavailable('other tests of rules remember too much at the moment; try again');
  const detail = 'the rule has to remember too much in this range: narrow its filters or the range';
  throw new AppError('conflict', detail);
}

/** Counts the findings of a test that are alerts. */
function tallyOf(settings: AlertRuleSettings, { sinceMs, untilMs }: TestRange) {
  const perDay = new Map<string, number>();
  for (let at = sinceMs; at < untilMs; at += dayMs) perDay.set(dayOf(at), 0);
  if (untilMs > sinceMs) perDay.set(dayOf(untilMs - 1), 0);
  const isAlert = alertLimit();
  let alerts: Finding[] = [];
  let [total, dropped] = [0, 0];
  return {
    add(findings: readonly Finding[]): void {
      for (const finding of findings.filter(({ atMs }) => atMs >= sinceMs)) {
        if (!isAlert(finding)) {
          dropped += 1;
          continue;
        }
        const day = dayOf(finding.atMs);
        perDay.set(day, (perDay.get(day) ?? 0) + 1);
        total += 1;
        alerts.push(finding);
      }
      if (alerts.length > 2 * alertsShownMax) alerts = alerts.slice(-alertsShownMax);
    },
    answer: () => ({
      alerts: alerts.slice(-alertsShownMax).map(({ atMs, group, count, events }) => ({
        at: formatTimestamp(atMs),
        group: groupShown(settings, group),
        count,
        events: events.slice(-eventsShownMax).map(({ uuid, sequence }) => {
          return { id: eventIdFromUuid(uuid), sequence };
        }),
      })),
      perDay: [...perDay].map(([day, alerts]) => ({ day, alerts })),
      total,
      dropped,
    }),
  };
}

const dayOf = (ms: number) => formatTimestamp(ms).slice(0, 10);

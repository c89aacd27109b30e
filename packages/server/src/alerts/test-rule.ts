import {
  type AlertRuleSettings,
  type EventFilter,
  eventIdFromUuid,
  formatTimestamp,
} from '@indelible/protocol';
import { visibility } from '../events/index.ts';
import { AppError } from '../http/index.ts';
import { type Database, readTenant, type TenantTx } from '../postgres/index.ts';
import { groupShown } from './alert-event.ts';
import { candidatesAfter } from './candidates.store.ts';
import {
  AlertLimit,
  type Candidate,
  dayMs,
  type Evaluator,
  type Finding,
  minuteMs,
  SilenceEvaluator,
} from './evaluate.ts';
import { ruleFilter } from './rule.ts';
import { newEvaluator, ofKnownActors } from './watch.ts';

export interface TestDeps {
  db: Database;
  now: () => number;
}

/** A range of event times in milliseconds; the end is excluded. */
export interface TestRange {
  sinceMs: number;
  untilMs: number;
}

const pageEvents = 20_000;
/** The range is read in parts, which grow while one takes less than this. */
const partMs = 500;
const spanMsMax = 64 * dayMs;
/** The newest of the alerts, and the events of each, that an answer shows. */
const alertsShownMax = 500;
const eventsShownMax = 10;
/** About half a gigabyte of memory. */
const rememberedMax = 3_000_000;

const beforeAll = '00000000-0000-0000-0000-000000000000';

/**
 * The alerts that a rule would have raised in the range, as if each event had been received at its
 * time. The same evaluators as for new events run over the events in the order of their times. Days
 * are of UTC. Throws `conflict` if the rule has to remember too much.
 */
export async function testRule(
  { db, now }: TestDeps,
  tenantId: string,
  settings: AlertRuleSettings,
  { sinceMs, untilMs }: TestRange,
  gone?: AbortSignal,
) {
  const filter = ruleFilter(settings, tenantId);
  const memoryMs = (settings.lookbackDays ?? 0) * dayMs + (settings.windowMinutes ?? 0) * minuteMs;
  const fromMs = Math.max(0, sinceMs - memoryMs);
  const isSilence = settings.kind === 'silence';
  const evaluator = isSilence ? new SilenceEvaluator(settings, sinceMs) : newEvaluator(settings);
  const tally = new Tally(settings, sinceMs, untilMs);
  let spanMs = dayMs;
  for (let at = fromMs; at < untilMs; ) {
    const part = { ...filter, from: at, to: Math.min(at + spanMs, untilMs) };
    const began = performance.now();
    let after: string | null = beforeAll;
    while (after !== null) {
      gone?.throwIfAborted();
      const from: string = after;
      after = await readTenant(db, tenantId, (tx) => testPage(tx, settings, part, from), gone);
    }
    at = part.to;
    // Rare matches: a statement must neither read years, nor each day need one.
    const isQuick = performance.now() - began < partMs;
    spanMs = isQuick ? Math.min(2 * spanMs, spanMsMax) : Math.max(dayMs, spanMs / 2);
  }
  if (evaluator instanceof SilenceEvaluator) {
    const last = evaluator.until(Math.min(untilMs, now()));
    tally.add(last ? [last] : []);
  }
  return tally.answer();

  /** The id of the page's last event, null after the last page of the part. */
  async function testPage(
    tx: TenantTx,
    rule: AlertRuleSettings,
    part: EventFilter,
    after: string,
  ): Promise<string | null> {
    const visible = await visibility(tx, now());
    if (!visible) return null;
    const events = await candidatesAfter(tx, part, visible, after, pageEvents);
    const found = takeAll(evaluator, events);
    tally.matched += events.filter(({ atMs }) => atMs >= sinceMs).length;
    tally.add(await ofKnownActors(tx, visible, rule, found));
    return events.length < pageEvents ? null : (events.at(-1)?.uuid ?? null);
  }
}

function takeAll(evaluator: Evaluator, events: readonly Candidate[]): Finding[] {
  const found = events.flatMap((event) => evaluator.take(event) ?? []);
  if (evaluator.size() <= rememberedMax) return found;
  const detail = 'the rule has to remember too much in this range: narrow its filters or the range';
  throw new AppError('conflict', detail);
}

/** The findings of a test that are alerts. */
class Tally {
  matched = 0;
  readonly #settings: AlertRuleSettings;
  readonly #sinceMs: number;
  readonly #perDay = new Map<string, number>();
  readonly #limit = new AlertLimit();
  #alerts: Finding[] = [];
  #total = 0;
  #dropped = 0;

  constructor(settings: AlertRuleSettings, sinceMs: number, untilMs: number) {
    this.#settings = settings;
    this.#sinceMs = sinceMs;
    for (let at = sinceMs; at < untilMs; at += dayMs) this.#perDay.set(dayOf(at), 0);
    if (untilMs > sinceMs) this.#perDay.set(dayOf(untilMs - 1), 0);
  }

  add(findings: readonly Finding[]): void {
    for (const finding of findings) {
      if (finding.atMs < this.#sinceMs) continue;
      if (!this.#limit.allows(finding)) {
        this.#dropped += 1;
        continue;
      }
      const day = dayOf(finding.atMs);
      this.#perDay.set(day, (this.#perDay.get(day) ?? 0) + 1);
      this.#total += 1;
      this.#alerts.push(finding);
    }
    if (this.#alerts.length > 2 * alertsShownMax) {
      this.#alerts = this.#alerts.slice(-alertsShownMax);
    }
  }

  answer() {
    return {
      alerts: this.#alerts.slice(-alertsShownMax).map(({ atMs, group, count, events }) => ({
        at: formatTimestamp(atMs),
        group: groupShown(this.#settings, group),
        count,
        events: events.slice(-eventsShownMax).map(({ uuid, sequence }) => ({
          id: eventIdFromUuid(uuid),
          sequence,
        })),
      })),
      perDay: [...this.#perDay].map(([day, alerts]) => ({ day, alerts })),
      ...{ total: this.#total, dropped: this.#dropped, matched: this.matched },
    };
  }
}

const dayOf = (ms: number) => formatTimestamp(ms).slice(0, 10);

import {
  type EventFilter,
  futureMsMax,
  type ListQuery,
  matcherOf,
  type ShownEvent,
  uuidTimeMs,
  wordsOf,
} from '@indelible/protocol';
import type { Visibility } from '../events/filter-sql.store.ts';
import { shownOf } from '../events/listed-row.ts';
import { givingWay } from '../http/giving-way.ts';
import { AppError } from '../http/problem.ts';
import { eventsById, inSequence, listEvents } from '../list/list.store.ts';
import { eventsBetween } from '../log/entries.store.ts';
import { isLockTimeout, tookTooLong } from '../postgres/db.ts';
import type { AlertCursor } from './cursor.store.ts';
import { type Candidate, type Finding, minuteMs } from './evaluate.ts';
import { type Before, isAboutAlerts, lateMs } from './recall.store.ts';
import { ruleFilter, settingsOf, watchOf } from './rule.ts';
import type { RuleRow } from './store.ts';
import { isDue } from './tell.ts';
import { type Opened, ofKnownActors, openWatch, rememberedMax, type Watch } from './watch.ts';

/** What a rule makes of a batch: findings to raise, and when a rule of silence looks next. */
interface RuleOutcome {
  rule: RuleRow;
  findings: Finding[];
  /** The findings above the limit. */
  dropped: Finding[];
  /** Undefined: unchanged. */
  silentAtMs?: number | null;
}

export interface Batch {
  /** The sequence after the last one that is evaluated. */
  end: number;
  /** The sequences of events that came too late. */
  late: number[];
  outcomes: RuleOutcome[];
}

/** More in one transaction would lock the log, and hold recording up, longer than a flush does. */
const alertsMax = 200;

/** The batch, or its first events with a bounded number of alerts; a rule raises one an event. */
export function shortened(batch: Batch): Batch {
  const found = batch.outcomes.flatMap(({ findings }) => findings.flatMap(setOffBy));
  const end = found.sort((a, b) => a - b)[alertsMax];
  if (end === undefined) return batch;
  const isBefore = (finding: Finding) => (setOffBy(finding)[0] ?? 0) < end;
  const outcomes = batch.outcomes.map((outcome) => {
    const { findings, dropped } = outcome;
    return { ...outcome, findings: findings.filter(isBefore), dropped: dropped.filter(isBefore) };
  });
  return { end, late: batch.late.filter((sequence) => sequence < end), outcomes };
}

/** The event that completed it; a silence has none. */
const setOffBy = ({ events }: Finding) => events.slice(-1).map(({ sequence }) => sequence);

/** A rule that could not read the earlier events that it needs begins anew after this time. */
const restMs = 10 * minuteMs;

const batchEntries = 512;
const batchBytes = 8 * 2 ** 20;
const batch = { ...inSequence, limit: batchEntries };

/** What a process remembers of a tenant's rules: it has evaluated all from its first event on. */
export class RuleMemory {
  /** The next one to evaluate. */
  sequence: number;
  readonly #first: Opened;
  /** By rule; one without a watch rests until its time. */
  readonly #known = new Map<string, { key: string; watch: Watch | null; untilMs: number }>();

  constructor(sequence: number, nowMs: number) {
    this.sequence = sequence;
    this.#first = { sequence, nowMs };
  }

  /**
   * The rule's watch, which knows what it needs for these events. Null while the rule rests: the
   * earlier events that it needs were too many, or took too long.
   */
  async watchFor(
    rule: RuleRow,
    before: Before,
    events: readonly Candidate[],
    nowMs: number,
  ): Promise<Watch | null> {
    const { id, fromSequence } = rule;
    const key = keyOf(rule);
    const known = this.#known.get(id);
    const isSame = known?.key === key;
    if (isSame && known.watch === null && nowMs < known.untilMs) return null;
    let watch = isSame ? known.watch : null;
    if (watch === null || watch.evaluator.size() >= rememberedMax) {
      const stated = { id, fromSequence, settings: settingsOf(rule) };
      const opened = isSame ? { sequence: this.sequence, nowMs } : this.#first;
      watch = await openWatch(stated, before.visible, opened, nowMs);
    }
    const current = (await recalls(watch, before, events)) ? watch : null;
    this.#known.set(id, { key, watch: current, untilMs: nowMs + restMs });
    return current;
  }
}

/** Differs once a change of the rule decides which alerts it raises. */
const keyOf = (rule: RuleRow) => `${watchOf(rule)} ${rule.fromSequence}`;

/** A rule with its filters as events are compared with them. */
interface Compared {
  rule: RuleRow;
  filter: EventFilter;
  following: EventFilter | null;
}

function comparedOf(rule: RuleRow, tenantId: string): Compared {
  const { filters, followedBy } = settingsOf(rule);
  const following = followedBy === undefined ? null : ruleFilter(followedBy, tenantId);
  return { rule, filter: ruleFilter(filters, tenantId), following };
}

/** The actions of all events that it has to see; none: any action. */
function actionsOf({ filter, following }: Compared): string[] {
  const named = [filter, ...(following ? [following] : [])].map(({ action }) => action?.any ?? []);
  return named.every(({ length }) => length > 0) ? named.flat() : [];
}

/** Reads and evaluates the next events of the log, all rules in one reading. */
export async function evaluateBatch(
  { nextSequence }: AlertCursor,
  rules: readonly RuleRow[],
  visible: Visibility,
  memory: RuleMemory,
  nowMs: number,
): Promise<Batch> {
  const compared = rules.map((rule) => comparedOf(rule, visible.tx.tenantId));
  const { events, end } = await readBatch(nextSequence, compared, visible);
  const isLate = (event: BatchEvent) => latenessOf(event, nowMs) > lateMs;
  const inTime = events.filter((event) => !isLate(event) && !isAboutAlerts(event.shown));
  const matches = await matchesOf(inTime, compared);
  const outcomes: RuleOutcome[] = [];
  for (const each of compared) {
    const { rule, filter } = each;
    const matched = (matches.get(rule) ?? []).filter(
      ({ sequence }) => sequence >= rule.fromSequence,
    );
    if (settingsOf(rule).kind === 'silence') {
      const isAtEnd = end === visible.size;
      outcomes.push(await lookForSilence(each, matched, visible, isAtEnd, nowMs));
    } else if (matched.length > 0) {
      const before = { filter, visible, sequence: nextSequence };
      const watch = await memory.watchFor(rule, before, matched, nowMs);
      if (watch) outcomes.push(await findingsOf(rule, watch, matched, visible));
    }
  }
  return { end, late: events.filter(isLate).map(({ sequence }) => sequence), outcomes };
}

async function findingsOf(
  rule: RuleRow,
  { evaluator, isAlert }: Watch,
  events: readonly Candidate[],
  visible: Visibility,
): Promise<RuleOutcome> {
  const found = events.flatMap((event) => evaluator.take(event) ?? []);
  const known = await ofKnownActors(visible, settingsOf(rule), found);
  const judged = Map.groupBy(known, isAlert);
  return { rule, findings: judged.get(true) ?? [], dropped: judged.get(false) ?? [] };
}

/** How long a statement of a rule may look back. */
const recallMs = 3_000;

/**
 * False for a rule that needs too many earlier events, or too long for them: the tenant's other
 * rules must go on.
 */
async function recalls(
  watch: Watch,
  before: Before,
  events: readonly Candidate[],
): Promise<boolean> {
  const { tx } = before.visible;
  await tx.query({ text: `SAVEPOINT recall; SET LOCAL statement_timeout = ${recallMs}` });
  try {
    await watch.recall(before, events);
    return true;
  } catch (error) {
    // The last two: by the time limit of statements, or of locks.
    if (error instanceof AppError || tookTooLong(error) || isLockTimeout(error)) return false;
    throw error;
  } finally {
    // The former time limit holds again.
    await tx.query({ text: 'ROLLBACK TO SAVEPOINT recall' });
  }
}

/** After a clock that was ahead, times of receipt stay ahead until it is that time. */
const latenessOf = ({ atMs, receivedMs }: BatchEvent, nowMs: number) =>
  Math.min(receivedMs, nowMs) - atMs;

interface BatchEvent extends Candidate {
  receivedMs: number;
  shown: ShownEvent;
}

/** Only the actions that some rule names are read, if every rule names its own. */
async function readBatch(
  from: number,
  compared: readonly Compared[],
  visible: Visibility,
): Promise<{ events: BatchEvent[]; end: number }> {
  const end = Math.min(from + batchEntries, visible.size);
  if (end <= from) return { events: [], end: from };
  const uuids = await eventsBetween(visible.tx, from, end);
  const wanted = new Set(compared.flatMap(actionsOf));
  const areNamed = compared.every((each) => actionsOf(each).length > 0);
  const filter = areNamed ? { action: { any: [...wanted], none: [] } } : {};
  const { rows, more } = await eventsById(uuids, { ...batch, filter }, visible, batchBytes);
  const events = rows.map((row): BatchEvent => {
    const { uuid, sequence, actorId, actorIp, resourceType, resourceId, receivedAtMs } = row;
    const atMs = uuidTimeMs(uuid);
    return {
      uuid,
      sequence,
      atMs,
      actorId,
      actorIp,
      resourceType,
      resourceId,
      receivedMs: receivedAtMs,
      shown: shownOf(row),
    };
  });
  const last = rows.at(-1);
  return { events, end: more && last ? last.sequence + 1 : end };
}

/** The events of each rule. Rules that name actions are compared only with events of these. */
async function matchesOf(
  events: readonly BatchEvent[],
  compared: readonly Compared[],
): Promise<Map<RuleRow, BatchEvent[]>> {
  const byAction = new Map<string, Compared[]>();
  const ofAny: Compared[] = [];
  for (const each of compared) {
    const actions = new Set(actionsOf(each));
    if (actions.size === 0) ofAny.push(each);
    for (const action of actions) byAction.set(action, [...(byAction.get(action) ?? []), each]);
  }
  const matches = new Map<RuleRow, BatchEvent[]>();
  const giveWay = givingWay();
  const known = new Map<string, string[]>();
  const wordsOfQuery = (query: string) => {
    const words = known.get(query) ?? wordsOf(query);
    known.set(query, words);
    return words;
  };
  for (const event of events) {
    const isMatch = matcherOf(event.shown, wordsOfQuery);
    for (const each of [...ofAny, ...(byAction.get(event.shown.action) ?? [])]) {
      await giveWay();
      const { rule, filter, following } = each;
      const follows = !isMatch(filter);
      if (follows && (following === null || !isMatch(following))) continue;
      const known = matches.get(rule);
      const match = follows ? { ...event, follows } : event;
      if (known) known.push(match);
      else matches.set(rule, [match]);
    }
  }
  return matches;
}

/**
 * A rule of silence stores only when it looks into the log next. While the silence lasts, it looks
 * for the event that ends it.
 */
async function lookForSilence(
  { rule, filter }: Compared,
  matched: readonly Candidate[],
  visible: Visibility,
  isAtEnd: boolean,
  nowMs: number,
): Promise<RuleOutcome> {
  const windowMs = (settingsOf(rule).windowMinutes ?? 0) * minuteMs;
  const { silentAtMs } = rule;
  const unchanged = { rule, findings: [], dropped: [] };
  const last = matched.at(-1);
  if (silentAtMs === null) return last ? { ...unchanged, silentAtMs: nowMs + windowMs } : unchanged;
  if (!isDue(silentAtMs, nowMs, windowMs + futureMsMax) || !isAtEnd) return unchanged;
  const since = { ...filter, from: nowMs - windowMs + 1, to: nowMs + futureMsMax };
  const newest: ListQuery = {
    ...batch,
    sort: 'timestamp',
    order: 'desc',
    filter: since,
    limit: 1,
  };
  const [found] = (await listEvents(newest, visible, null)).rows;
  if (found) return { ...unchanged, silentAtMs: uuidTimeMs(found.uuid) + windowMs };
  const finding: Finding = { atMs: nowMs, group: null, count: 0, events: [] };
  return { ...unchanged, findings: [finding], silentAtMs: null };
}

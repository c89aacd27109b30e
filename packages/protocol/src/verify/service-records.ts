import type { ShownEvent } from '../event/committed-event.ts';
import type { CommittedEvent } from '../event/event-fields.ts';
import { uuidTimeMs } from '../event/event-id.ts';
import { parseTimestamp } from '../event/timestamp.ts';
import type { Plan } from '../plan.ts';

/** The settings that decide how long a tenant's events are shown. */
export interface PlanTerms {
  plan: Plan;
  /** Under a hold nothing is hidden or removed. */
  legalHold: boolean;
}

/** The service's record of a tenant's creation or change. */
export interface TermsRecord {
  sequence: number;
  timeMs: number;
  /** Null for a new tenant, and if the record does not show it. */
  before: PlanTerms | null;
  /** Null if the record does not show it: then the terms in force are unknown. */
  after: PlanTerms | null;
}

/** The service's record of a removal by retention: `{cutoff, size}`. */
export interface RemovalRecord {
  sequence: number;
  timeMs: number;
  cutoffMs: number;
  size: number;
  /** The plan in force; null if the record names none. */
  plan: Plan | null;
  /** The tenant is offboarded: everything is removed, under any plan. */
  isOffboarding: boolean;
  /** Whether removed events may have been received after the cutoff. */
  byTimestamp?: boolean;
}

/**
 * The service's record of an erased segment: of events below `size`, by these actors or with these
 * ids.
 */
export interface ErasureRecord {
  sequence: number;
  segment: string;
  actors: ReadonlySet<string>;
  /** `evt_audit_…` */
  events: ReadonlySet<string>;
  size: number;
}

/** The service's record that a log continues under a new origin. */
export interface ReopenRecord {
  sequence: number;
  /** The last checkpoint under a former origin: a signed note. */
  note: string;
}

/**
 * The last checkpoints of a reopened log's former origins, by the service's record. There are
 * several if a restored backup undid a reopening.
 */
export function formerCheckpoints(after: Readonly<Record<string, unknown>>): string[] {
  const { lastPublishedCheckpoint: last, earlierCheckpoints: earlier } = after;
  const notes = [last, ...(Array.isArray(earlier) ? earlier : [])];
  return notes.filter((note) => typeof note === 'string');
}

/** Whether verifiers need the event, to know why others, or parts of them, are missing. */
export function isServiceRecord(event: CommittedEvent): boolean {
  return recordKindOf(event) !== null;
}

const recordKinds = {
  'create tenant': 'terms',
  'update tenant': 'terms',
  'delete retention': 'removal',
  'delete tenant': 'removal',
  'erase audit_log': 'erasure',
  'reopen audit_log': 'reopening',
} as const;

function recordKindOf(event: CommittedEvent) {
  if (event.recordedByKind !== 'service' || event.resourceId !== event.tenantId) return null;
  const what = `${event.action} ${event.resourceType}`;
  return Object.hasOwn(recordKinds, what) ? recordKinds[what as keyof typeof recordKinds] : null;
}

/**
 * The records of the service in a log (`recordedBy.kind` is `service`). Pass `take` only events
 * that match their entries, in any order; then these records are as trustworthy as the log's
 * signature.
 */
export class ServiceRecords {
  readonly terms: TermsRecord[] = [];
  readonly removals: RemovalRecord[] = [];
  readonly erasures: ErasureRecord[] = [];
  readonly reopenings: ReopenRecord[] = [];

  take(event: ShownEvent): void {
    const kind = recordKindOf(event);
    if (kind === 'terms') this.terms.push(termsOf(event));
    else if (kind === 'removal') this.#takeRemoval(event);
    else if (kind === 'erasure') this.#takeErasure(event);
    else if (kind === 'reopening') this.#takeReopening(event);
  }

  #takeRemoval({ after, sequence, uuid, resourceType }: ShownEvent): void {
    const { cutoff, size, policy, countedFrom } = membersOf(after);
    const cutoffMs = typeof cutoff === 'string' ? parseTimestamp(cutoff) : null;
    if (cutoffMs === null || typeof size !== 'number') return;
    const plan = typeof policy === 'string' ? policy : null;
    // A record can only describe entries before its own.
    const covered = Math.min(size, sequence);
    const isOffboarding = resourceType === 'tenant';
    const timeMs = uuidTimeMs(uuid);
    const byTimestamp = countedFrom !== 'receipt';
    const record = { cutoffMs, size: covered, plan, isOffboarding, byTimestamp };
    this.removals.push({ sequence, timeMs, ...record });
  }

  #takeErasure({ after, sequence }: ShownEvent): void {
    const { segment, actors, events, size } = membersOf(after);
    if (typeof segment !== 'string' || typeof size !== 'number') return;
    const covered = Math.min(size, sequence);
    const record = { actors: textsOf(actors), events: textsOf(events), size: covered };
    this.erasures.push({ sequence, segment, ...record });
  }

  #takeReopening({ after, sequence }: ShownEvent): void {
    for (const note of formerCheckpoints(membersOf(after)))
      this.reopenings.push({ sequence, note });
  }
}

function termsOf({ sequence, uuid, before, after, diff }: ShownEvent): TermsRecord {
  const changes = membersOf(diff);
  const whole = { sequence, timeMs: uuidTimeMs(uuid) };
  if (after !== null) return { ...whole, before: planTerms(before), after: planTerms(after) };
  // If its states are withheld, only the diff shows the change.
  const side = (name: 'from' | 'to') => {
    const value = (field: string) => membersOf(JSON.stringify(changes[field] ?? {}))[name];
    return planTerms(JSON.stringify({ plan: value('plan'), legalHold: value('legalHold') }));
  };
  return { ...whole, before: side('from'), after: side('to') };
}

function planTerms(state: string | null): PlanTerms | null {
  const { plan, legalHold } = membersOf(state);
  const isKnown = typeof plan === 'string' && typeof legalHold === 'boolean';
  return isKnown ? { plan, legalHold } : null;
}

function textsOf(value: unknown): Set<string> {
  return new Set(Array.isArray(value) ? value.filter((each) => typeof each === 'string') : []);
}

/** The members of a JSON object's text; empty for any other text. */
function membersOf(text: string | null): Record<string, unknown> {
  const value: unknown = text === null ? null : JSON.parse(text);
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

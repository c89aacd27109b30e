import { type Agent, type Diff, type JsonValue, nilUuid, type Outcome } from '@indelible/protocol';
import type { FastifyRequest } from 'fastify';
import type { Maker } from './access/principal.ts';
import type { WriterTx } from './postgres/db.ts';

/** An event of the service itself, for the tenant's log. */
export interface OwnEvent {
  actor: {
    id: string;
    /** The host's own id, from which `id` derives. */
    externalId?: string;
    email: string | null;
    role: string;
    ip: string | null;
    userAgent: string | null;
    /** The key that opened the session or made the acting key; recorded with the states. */
    mark?: { openedBy: Maker } | { keyMadeBy: Maker };
    /** The agents that used the person's token, nearest first; the first is recorded as actor. */
    agents?: readonly Agent[];
  };
  action: string;
  outcome?: Outcome;
  correlationId?: string;
  resource: { type: string; id: string; name: string | null };
  before?: JsonValue;
  after?: JsonValue;
  /** Default: computed from the states. */
  diff?: Diff;
  reason?: string | null;
  /** Not an operator's act before a producer has recorded: the operator cannot see any data yet. */
  setsUp?: true;
}

/** Who changes a tenant, and the operator's declared reason. */
export interface Who {
  actor: OwnEvent['actor'];
  reason: string | null;
}

/** The origin of a request; a worker's records have none. */
export type Whence = Pick<OwnEvent['actor'], 'ip' | 'userAgent' | 'mark'>;

/** The service as the actor of an event. */
export const byItself: OwnEvent['actor'] = {
  id: nilUuid,
  email: null,
  role: 'system',
  ip: null,
  userAgent: null,
};

export const byService: Who = { actor: byItself, reason: null };

/** A resource was made, changed or removed: its states before and after; null for none. */
export function changedBy(
  { actor, reason }: Who,
  resource: OwnEvent['resource'],
  before: JsonValue | null,
  after: JsonValue | null,
): OwnEvent {
  const action = before === null ? 'create' : after === null ? 'delete' : 'update';
  const states = { ...(before !== null && { before }), ...(after !== null && { after }) };
  return { actor, action, ...states, resource, reason };
}

/** An act that changes no state of its resource: `after` says what was done. */
export function actOf(
  { actor, reason }: Who,
  action: string,
  resource: OwnEvent['resource'],
  more: Pick<OwnEvent, 'after' | 'diff' | 'outcome' | 'correlationId'>,
): OwnEvent {
  return { actor, action, resource, diff: {}, ...more, reason };
}

/**
 * A log continues under a new origin. Verifiers search this record and compare its checkpoints with
 * those that they know. `notes` are the last checkpoints of the log's former origins, oldest first:
 * several if a restored backup undid a reopening.
 */
export function reopenedEvent(
  tenantId: string,
  { publishedSize, notes }: { publishedSize: number; notes: readonly string[] },
  size: number,
  reason: string,
): OwnEvent {
  const earlier = notes.slice(0, -1);
  return {
    actor: byItself,
    action: 'reopen',
    resource: { type: 'audit_log', id: tenantId, name: 'Audit log' },
    diff: { entries: { from: publishedSize, to: size } },
    after: {
      lastPublishedCheckpoint: notes.at(-1) ?? null,
      ...(earlier.length > 0 && { earlierCheckpoints: earlier }),
    },
    reason,
  };
}

/**
 * Appends the events to the tenant's log in the transaction of the change: both are stored, or
 * neither. Resolves to their UUIDs. The log must be open. Locks the log's head, so call it last.
 */
export type RecordOwn = (
  tx: WriterTx,
  tenantId: string,
  ...events: readonly OwnEvent[]
) => Promise<string[]>;

/**
 * Records an event without its own transaction in the tenant's log; resolves after the commit, with
 * its UUID. The same `uuid` again has no effect.
 */
export type RecordQueued = (tenantId: string, event: OwnEvent, uuid?: string) => Promise<string>;

/** The authenticated caller as the actor of an event. */
export function actorOf(request: FastifyRequest): OwnEvent['actor'] {
  const { id, externalId, email, role, agents } = request.principal;
  const own = externalId === null ? {} : { externalId };
  return { id, ...own, email, role, agents, ...whenceOf(request) };
}

/** The caller's origin (no address after a disconnect), and the key of their session. */
export function whenceOf(request: FastifyRequest): Whence {
  const { kind, maker } = request.principal;
  const ip: string | undefined = request.ip;
  const mark = maker && (kind === 'session' ? { openedBy: maker } : { keyMadeBy: maker });
  const userAgent = request.headers['user-agent'] || null;
  return { ip: ip ?? null, userAgent, ...(mark ? { mark } : {}) };
}

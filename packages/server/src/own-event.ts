import { type Diff, type JsonValue, nilUuid } from '@indelible/protocol';
import type { FastifyRequest } from 'fastify';
import type { Maker } from './access/principal.ts';
import type { WriterTx } from './postgres/db.ts';

/** Something the service did, or let somebody do, as it goes into the tenant's own log. */
export interface OwnEvent {
  actor: {
    id: string;
    email: string | null;
    role: string;
    ip: string | null;
    userAgent: string | null;
    /** Which key stands behind the session or key that acts; recorded with the states. */
    mark?: { openedBy: Maker } | { keyMadeBy: Maker };
  };
  action: string;
  resource: { type: string; id: string; name: string | null };
  before?: JsonValue;
  after?: JsonValue;
  /** Computed from the states when it is left out. */
  diff?: Diff;
  reason?: string | null;
  /** No operator's act until a producer has recorded: there is nothing yet that one could see. */
  setsUp?: true;
}

/** Who does something to a tenant, and the reason that an operator declares. */
export interface Who {
  actor: OwnEvent['actor'];
  reason: string | null;
}

/** Where a request comes from; what a worker records comes from nowhere. */
export type Whence = Pick<OwnEvent['actor'], 'ip' | 'userAgent' | 'mark'>;

/** The service by itself, as the actor of an event. */
export const byItself: OwnEvent['actor'] = {
  ...{ id: nilUuid, email: null, role: 'system' },
  ...{ ip: null, userAgent: null },
};

/**
 * A log goes on under a new origin. Verifiers look for this record, and hold what it says of the
 * checkpoint against what they have seen. `notes` are the last checkpoints of the origins that the
 * log had, one each, oldest first: more than one where a reopening was itself undone by a restore.
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
 * Appends the event to the tenant's log inside the transaction of what it describes: both are
 * stored, or neither. The log must be open. Takes the lock of the log's head, so it comes last.
 */
export type RecordOwn = (tx: WriterTx, tenantId: string, event: OwnEvent) => Promise<void>;

/** The authenticated caller as the actor of an event. */
export function actorOf(request: FastifyRequest): OwnEvent['actor'] {
  const { id, email, role } = request.principal;
  return { id, email, role, ...whenceOf(request) };
}

/** Where the caller is, without an address once they have hung up, and who vouches for them. */
export function whenceOf(request: FastifyRequest): Whence {
  const { kind, maker } = request.principal;
  const ip: string | undefined = request.ip;
  const mark = maker && (kind === 'session' ? { openedBy: maker } : { keyMadeBy: maker });
  const userAgent = request.headers['user-agent'] || null;
  return { ip: ip ?? null, userAgent, ...(mark ? { mark } : {}) };
}

import {
  type FieldProblem,
  identityBy,
  isEmail,
  isUuid,
  nilUuid,
  parseTimestamp,
  reasonLengthMax,
} from '@indelible/protocol';
import type { EventInput } from '../api-types.ts';
import type { AuditSink } from '../audit-sink.ts';
import type { EventCatalogue } from '../event/catalogue.ts';
import { newEventId } from '../event/outgoing-event.ts';
import { plainJson } from '../event/plain-json.ts';
import type { AnyAction, AnyResourceType } from '../event/words.ts';
import { IndelibleError } from '../http/errors.ts';
import { delegationOf } from './agents.ts';

/** The person or program that acts. May be a whole user object: only these members are read. */
export interface Actor {
  /** A UUID, or an id of the product's own. */
  id: string;
  email?: string | null;
  role: string;
  /** The impersonated person: the actor remains the true one, and the reason names this person. */
  actingAs?: ActingAs | null;
  /** Reason for everything in this request; an event's own reason takes precedence. */
  reason?: string | null;
}

/** The impersonated person. */
export interface ActingAs {
  id: string;
  email?: string | null;
}

/**
 * The words of events that handlers record. Extend it with the type of your catalogue, so that any
 * other word is a type error; see `docs/client.md`.
 */
// biome-ignore lint/suspicious/noEmptyInterface: a host adds the member `catalogue`
export interface AuditWords {}

type Words = AuditWords extends { catalogue: EventCatalogue<infer A, infer R> }
  ? { action: A; type: R }
  : { action: AnyAction; type: AnyResourceType };

/** A handler's part of an event; the middleware adds the rest. Set `actor` only for sign-ins. */
export type AuditInput = Omit<EventInput<Words['action'], Words['type']>, 'actor'> & {
  actor?: Actor;
};

/** A complete event. */
export type FilledEvent = EventInput & { id: string };

/** Options of every framework's middleware. */
export interface AuditOptions<Request> {
  sink: AuditSink;
  /**
   * The signed-in user. Called for each event, so authentication may run after the middleware. Null
   * without a user: the event then has the nil UUID and the role `anonymous`.
   */
  actorOf(request: Request): Actor | null | undefined;
  /** The event's tenant; not needed if the credential is bound to one tenant. */
  tenantOf?(request: Request): string | null | undefined;
  /**
   * The claims of the request's token, after it was verified. With the claim `act` (RFC 8693) the
   * event's actor is that agent, and `onBehalfOf` names the user of `actorOf`.
   */
  claimsOf?(request: Request): object | null | undefined;
}

/** The origin of a request, read before its connection can close. */
export interface Origin {
  ip: string | null;
  userAgent: string | null;
  requestId: string;
  /** The program behind a request of the Model Context Protocol. */
  via?: EventInput['via'] | null;
}

interface Source {
  sink: AuditSink;
  actor: () => Actor | null | undefined;
  tenantId: () => string | null | undefined;
  claims?: () => object | null | undefined;
}

/** The audit of one request: knows actor and origin. */
export class RequestAudit {
  readonly ip: string | null;
  readonly userAgent: string | null;
  /** For the host product's own logs; a client sends it to the service as `X-Request-Id`. */
  readonly requestId: string;
  readonly #source: Source;
  readonly #via: Origin['via'];
  #declared: Actor | null = null;

  constructor(source: Source, { ip, userAgent, requestId, via }: Origin) {
    this.#source = source;
    this.#via = via;
    this.ip = ip;
    this.userAgent = userAgent;
    this.requestId = requestId;
  }

  /** Sets the true actor for the rest of the request; `actingAs` names the impersonated person. */
  actor(actor: Actor, { actingAs, reason }: Pick<Actor, 'actingAs' | 'reason'> = {}): void {
    this.#declared = {
      ...pickedActor(actor),
      actingAs: actingAs ?? actor.actingAs ?? null,
      reason: reason ?? actor.reason ?? null,
    };
  }

  /**
   * The event with id, actor, origin and tenant, for an outbox: `inTransaction(tx,
   * audit.event(…))`.
   */
  event(input: AuditInput): FilledEvent {
    const { actor: own, reason, id, tenantId: ownTenantId, via: ownVia, ...said } = input;
    const person = own ?? this.#declared ?? this.#source.actor() ?? undefined;
    // Claims tell of who is signed in, not of an actor that the event names itself.
    const delegation = own ? null : delegationOf(person, this.#source.claims?.());
    const { actor, clientId, ...forWhom } = delegation ?? { actor: actorOfEvent(person) };
    const tenantId = ownTenantId ?? this.#source.tenantId();
    const why = reason ?? reasonOf(person);
    const via = ownVia ?? this.#via ?? (delegation && { channel: 'api' });
    return {
      // Made at the time of the action, so that every retry records the same event.
      id: id ?? newEventId(timeOf(input)),
      ...(tenantId == null ? {} : { tenantId }),
      ...(via ? { via: { ...(clientId ? { clientId } : {}), ...this.#via, ...via } } : {}),
      ...forWhom,
      ...withOwnIds(said),
      actor: { ...actor, ip: this.ip, userAgent: this.userAgent },
      ...(why === null ? {} : { reason: why }),
    };
  }

  /**
   * Passes the event to the sink and resolves with its id. Await it: with a client as the sink it
   * rejects with NotRecordedError if the event is not recorded, and the request fails. With a
   * recorder it cannot fail.
   */
  async record(input: AuditInput): Promise<string> {
    const { id, ...event } = this.event(input);
    const context = { requestId: this.requestId };
    const { sink } = this.#source;
    try {
      await sink.record({ id, ...event }, context);
      return id;
    } catch (cause) {
      const isAhead = cause instanceof IndelibleError && cause.code === 'timestamp_in_future';
      if (!isAhead || input.id != null || input.timestamp != null)
        throw new NotRecordedError(cause);
    }
    // The clock of this machine is fast: a client can make an id of the service's time.
    try {
      const recorded = (await sink.record(event, context)) as Partial<FilledEvent> | undefined;
      return recorded?.id ?? id;
    } catch (cause) {
      throw new NotRecordedError(cause);
    }
  }

  /** Records a sign-in of `actor`; `more` may name the session or the tenant. */
  login(actor: Actor, more: Partial<AuditInput> = {}): Promise<string> {
    const type = 'session' as const;
    const resource = { type, ...identityBy(actor.id), name: actor.email ?? null };
    return this.record({ actor, action: 'login', resource, ...more });
  }

  /**
   * Records a failed sign-in with the given address. Other text is not recorded: it may be a
   * password, and no input of a client may cause the event to be refused.
   */
  loginFailed(email: string | null = null, more: Partial<AuditInput> = {}): Promise<string> {
    const actor = { ...anonymous, email: email !== null && isEmail(email) ? email : null };
    const resource = { type: 'session', id: nilUuid } as const;
    return this.record({ actor, action: 'login_failed', resource, ...more });
  }
}

/** An event was not recorded; `cause` is the sink's error. */
export class NotRecordedError extends Error {
  override readonly name = 'NotRecordedError';
  /** Every field that the service refused. Loggers print these, but only one line of a cause. */
  readonly errors: readonly FieldProblem[];

  // Not the sink's error itself: frameworks answer with an error's `status` and message. The 401 of
  // an expired API key would tell the host product's users that they are signed out.
  constructor(cause: unknown) {
    const code = cause instanceof IndelibleError ? ` (${cause.code})` : '';
    super(`the audit event was not recorded${code}`, { cause });
    this.errors = cause instanceof IndelibleError ? cause.errors : [];
  }
}

type Said = Pick<AuditInput, 'resource' | 'targets' | 'onBehalfOf'>;

/** Ids of things and people that are no UUIDs become own ids, as those of actors do. */
function withOwnIds<Given extends Said>(said: Given): Given {
  const { resource, targets, onBehalfOf } = said;
  return {
    ...said,
    ...(resource && { resource: withOwnId(resource) }),
    ...(targets && { targets: targets.map(withOwnId) }),
    ...(onBehalfOf && { onBehalfOf: onBehalfOf.map(withOwnId) }),
  };
}

type Named = Partial<Record<'id' | 'externalId', string | null | undefined>>;

function withOwnId<Given extends Named>(named: Given): Given {
  const { id, ...others } = named;
  if (id == null || others.externalId != null || isUuid(id)) return named;
  return { ...others, externalId: id } as unknown as Given;
}

/** The actor of requests without a signed-in user. */
const anonymous: Actor = { id: nilUuid, email: null, role: 'anonymous' };

// Not a spread: other members of a user object would be refused, and may be secret.
function pickedActor({ id, email, role }: Actor) {
  return { id, email: email ?? null, role };
}

function actorOfEvent({ id, email, role }: Actor = anonymous) {
  return { ...identityBy(id), email: email ?? null, role };
}

function reasonOf({ actingAs, reason }: Actor = anonymous): string | null {
  if (actingAs == null) return reason ?? null;
  const { id, email } = actingAs;
  const whom = `acting as ${email ? `${email} (${id})` : id}`;
  if (!reason) return whom;
  // Shortens the declared reason, never the name of the impersonated person.
  const room = reasonLengthMax - whom.length - 2;
  const words = reason.length > room ? `${reason.slice(0, room - 1)}…` : reason;
  return `${words.toWellFormed()}; ${whom}`;
}

/** From the text that will be sent: at run time it may be a Date. */
function timeOf({ timestamp }: AuditInput): number {
  return parseTimestamp(String(plainJson(timestamp))) ?? Date.now();
}

import { type FieldProblem, isEmail, parseTimestamp } from '@indelible/protocol';
import type { EventInput } from '../api-types.ts';
import type { AuditSink } from '../audit-sink.ts';
import { newEventId } from '../event/event-id.ts';
import { plainJson } from '../event/plain-json.ts';
import { IndelibleError } from '../http/errors.ts';

/** The actor of what nobody is signed in for. */
const nobody = '00000000-0000-0000-0000-000000000000';
const reasonMax = 1_000;

/** Who acts. A whole user object will do: nothing but these members is read. */
export interface Actor {
  /** UUID. */
  id: string;
  email?: string | null;
  role: string;
  /** Under whose name: the actor stays who really acted, and the reason says it. */
  actingAs?: ActingAs | null;
  /** Declared for everything in this request; an event's own reason comes first. */
  reason?: string | null;
}

/** Somebody in whose name somebody else acts. */
export interface ActingAs {
  id: string;
  email?: string | null;
}

/**
 * What a handler says of an event; the rest is known. Its own `actor` is for signing in and out.
 */
export type AuditInput = Omit<EventInput, 'actor'> & { actor?: Actor };

/** An event with everything filled in. */
export type FilledEvent = EventInput & { id: string };

/** What every framework's middleware takes. */
export interface AuditOptions<Request> {
  sink: AuditSink;
  /**
   * Who is signed in; asked anew for each event, so that authentication may run after the
   * middleware. Null for nobody: the event then has the nil UUID and the role `anonymous`.
   */
  actorOf(request: Request): Actor | null | undefined;
  /** Whose log it goes to; not needed with a credential that is bound to one tenant. */
  tenantOf?(request: Request): string | null | undefined;
}

/** Where a request came from, read before anything can close its connection. */
export interface Origin {
  ip: string | null;
  userAgent: string | null;
  requestId: string;
}

interface Source {
  sink: AuditSink;
  actor: () => Actor | null | undefined;
  tenantId: () => string | null | undefined;
}

/** The audit of one request: knows who acts and from where. */
export class RequestAudit {
  readonly ip: string | null;
  readonly userAgent: string | null;
  /** For the logs of the host; a client sends it to the service as `X-Request-Id`. */
  readonly requestId: string;
  readonly #source: Source;
  #declared: Actor | null = null;

  constructor(source: Source, { ip, userAgent, requestId }: Origin) {
    this.#source = source;
    this.ip = ip;
    this.userAgent = userAgent;
    this.requestId = requestId;
  }

  /** Says who really acts from here on, in place of `actorOf`; with `actingAs` in whose name. */
  actor(actor: Actor, { actingAs, reason }: Pick<Actor, 'actingAs' | 'reason'> = {}): void {
    this.#declared = {
      ...pickedActor(actor),
      actingAs: actingAs ?? actor.actingAs ?? null,
      reason: reason ?? actor.reason ?? null,
    };
  }

  /**
   * The event with id, actor, origin and tenant, for
   * an outbox: `inTransaction(tx, audit.event(…))`.
   */
  event(input: AuditInput): FilledEvent {
    const { actor: own, reason, id, tenantId: ownTenantId, ...said } = input;
    const actor = own ?? this.#declared ?? this.#source.actor() ?? anonymous;
    const tenantId = ownTenantId ?? this.#source.tenantId();
    const why = reason ?? reasonOf(actor);
    return {
      // Made now, at the moment of the action, so that whatever carries the event records it once.
      id: id ?? newEventId(timeOf(input)),
      ...(tenantId == null ? {} : { tenantId }),
      ...said,
      actor: { ...pickedActor(actor), ip: this.ip, userAgent: this.userAgent },
      ...(why === null ? {} : { reason: why }),
    };
  }

  /**
   * Hands the event to the sink, and resolves with its id. Await it: with
   * a client as the sink it rejects with NotRecordedError when the event
   * is not recorded, and the request fails; with a recorder it cannot.
   */
  async record(input: AuditInput): Promise<string> {
    const event = this.event(input);
    try {
      await this.#source.sink.record(event, { requestId: this.requestId });
    } catch (cause) {
      throw new NotRecordedError(cause);
    }
    return event.id;
  }

  /** Records that `actor` signed in; `more` may name the session, or the tenant. */
  login(actor: Actor, more: Partial<AuditInput> = {}): Promise<string> {
    const resource = { type: 'session', id: actor.id, name: actor.email ?? null };
    return this.record({ actor, action: 'login', resource, ...more });
  }

  /**
   * Records a sign-in that failed, by the address that was tried. Whatever else was typed there is
   * left out: it may be a password, and nothing that a stranger types may get the event refused.
   */
  loginFailed(email: string | null = null, more: Partial<AuditInput> = {}): Promise<string> {
    const actor = { ...anonymous, email: email !== null && isEmail(email) ? email : null };
    const resource = { type: 'session', id: nobody };
    return this.record({ actor, action: 'login_failed', resource, ...more });
  }
}

/** An event was not recorded; `cause` is what the sink said. */
export class NotRecordedError extends Error {
  override readonly name = 'NotRecordedError';
  /** Every field that the service refused: logs show these, but of a cause no more than a line. */
  readonly errors: readonly FieldProblem[];

  // Not the sink's error itself: frameworks answer with an error's `status` and message, and the
  // 401 of a key that has expired would tell the host's own users that they are signed out.
  constructor(cause: unknown) {
    const code = cause instanceof IndelibleError ? ` (${cause.code})` : '';
    super(`the audit event was not recorded${code}`, { cause });
    this.errors = cause instanceof IndelibleError ? cause.errors : [];
  }
}

const anonymous: Actor = { id: nobody, email: null, role: 'anonymous' };

// Not a spread: what a user object holds besides would be refused, and may be secret.
function pickedActor({ id, email, role }: Actor) {
  return { id, email: email ?? null, role };
}

function reasonOf({ actingAs, reason }: Actor): string | null {
  if (actingAs == null) return reason ?? null;
  const { id, email } = actingAs;
  const whom = `acting as ${email ? `${email} (${id})` : id}`;
  if (!reason) return whom;
  // Never too long to be recorded: what is lost is the end of the words, not as whom.
  const room = reasonMax - whom.length - 2;
  const words = reason.length > room ? `${reason.slice(0, room - 1)}…` : reason;
  return `${words.toWellFormed()}; ${whom}`;
}

/** Of the text that will be sent: what was given may be a Date, whatever the types say. */
function timeOf({ timestamp }: AuditInput): number {
  return parseTimestamp(String(plainJson(timestamp))) ?? Date.now();
}

/**
 * The first of these that may travel as a request id, as the service judges it; else a new UUID.
 */
export function requestIdOf(...given: (string | readonly string[] | null | undefined)[]): string {
  const fits = given.find((id) => typeof id === 'string' && /^[\w-]{8,64}$/.test(id));
  return typeof fits === 'string' ? fits : crypto.randomUUID();
}

/** The audit of `request`, which `options` are asked about whenever an event is made. */
export function auditOf<Request>(
  { sink, ...options }: AuditOptions<Request>,
  request: Request,
  origin: Origin,
): RequestAudit {
  const source = {
    sink,
    actor: () => options.actorOf(request),
    tenantId: () => options.tenantOf?.(request),
  };
  return new RequestAudit(source, origin);
}

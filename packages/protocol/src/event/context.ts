import { canonicalize, type JsonObject, type JsonValue } from '../json/canonical.ts';
import { parseStrictJson } from '../json/strict-json.ts';
import {
  type ActorType,
  type CommittedEvent,
  contextFields,
  type EventField,
  eventFields,
  type MemberRule,
  type Outcome,
} from './event-fields.ts';
import { emailKey } from './field-rules.ts';

/*
 * The fields that version 2 has added. An event stores and commits to two canonical texts of them:
 * `context`, and `contextIdentity` with what is personal. An unset field is in neither.
 */

export type ContextTexts = Pick<CommittedEvent, 'context' | 'contextIdentity'>;

/** The fields of version 2 as they are sent and shown. */
export interface EventContext {
  actor?: { type?: ActorType; name?: string; externalId?: string };
  outcome?: Outcome;
  resource?: { externalId?: string };
  /** What the events of one request, job or message have in common. */
  correlationId?: string;
  /** W3C trace id: 32 hexadecimal digits. */
  traceId?: string;
  /** For whom the actor acts, nearest first; at most 4. */
  onBehalfOf?: readonly OnBehalfOf[];
  /** How it was done, such as over `mcp` with this tool. */
  via?: { channel: string; clientId?: string; tool?: string; sessionId?: string };
  /** Further resources; at most 10. */
  targets?: readonly Target[];
  /** Anything else, as a flat object of at most 50 members. */
  metadata?: Record<string, string | number | boolean | null>;
  /** Set by recorder and outbox if they number events; see their option `source`. */
  source?: { id: string; sequence: number };
  /** Set by the service: texts as they were sent that are cut or dropped, by JSON Pointer. */
  asSent?: Record<string, string>;
}

/** Absent members are not stated; erased ones are absent too. */
export interface OnBehalfOf {
  id?: string;
  externalId?: string;
  email?: string;
  name?: string;
  type?: ActorType;
  role?: string;
}

export interface Target {
  type?: string;
  id?: string;
  externalId?: string;
  name?: string;
}

type Members = Record<string, unknown>;

/** The place of a member in an event with objects inside. */
type Place = Pick<EventField, 'owner' | 'name'>;

/** The value of a member; undefined if there is none. */
export function valueAt(event: object, { owner, name }: Place): unknown {
  const within = owner === null ? event : (event as Record<string, unknown>)[owner];
  return (within as Record<string, unknown> | null | undefined)?.[name];
}

/** Sets the value of a member. */
export function putAt(event: Members, { owner, name }: Place, value: unknown): void {
  if (owner === null) event[name] = value;
  else event[owner] = { ...(event[owner] as Members | undefined), [name]: value };
}

/** A member of an event that a newer service has recorded, unknown to this program. */
export interface LaterMember extends Place {
  isPersonal: boolean;
}

const objects = [null, ...new Set(eventFields.flatMap(({ owner }) => owner ?? []))];

/**
 * The members of an event, and of its objects, that the table of fields does not have. Those that
 * `personal` names, dotted, are of the identity, the others of the context.
 */
export function laterMembers(event: object, personal: readonly string[]): LaterMember[] {
  return objects.flatMap((owner) => {
    const members = owner === null ? event : (event as Members)[owner];
    const isKnown = (name: string) =>
      eventFields.some((field) =>
        owner === null
          ? (field.owner ?? field.name) === name
          : field.owner === owner && field.name === name,
      );
    const names = typeof members === 'object' && members !== null ? Object.keys(members) : [];
    return names
      .filter((name) => !isKnown(name))
      .map((name) => {
        const isPersonal = personal.includes(owner === null ? name : `${owner}.${name}`);
        return { owner, name, isPersonal };
      });
  });
}

/** The personal fields of an event that older verifiers do not know; body lines name them. */
export function identityMembers({ contextIdentity }: ContextTexts): string[] | undefined {
  if (contextIdentity === null) return undefined;
  const personal = parsed(contextIdentity);
  const later = contextFields.filter((field) => field.isLater && valueAt(personal, field));
  return later.length > 0 ? later.map(({ path }) => path) : undefined;
}

/**
 * Both texts of an event whose fields of version 2 have the right types. Both are null without
 * any: then the event is of version 1. `later` are members that this program does not know; of
 * lists, `personal` names those of the identity. TypeError for a value that has no canonical text.
 */
export function contextTexts(
  event: object,
  later: readonly LaterMember[] = [],
  personal: readonly string[] = [],
): ContextTexts {
  const context: JsonObject = {};
  const identity: JsonObject = {};
  for (const field of contextFields) {
    const value = valueAt(event, field) as JsonValue | undefined;
    if (value === undefined) continue;
    if (field.kind !== 'list')
      putAt(field.segment === 'identity' ? identity : context, field, value);
    else {
      putList(context, field, value as JsonObject[], false, personal);
      putList(identity, field, value as JsonObject[], true, personal);
    }
  }
  for (const member of later) {
    putAt(member.isPersonal ? identity : context, member, valueAt(event, member));
  }
  if (!isEmpty(identity)) {
    return { context: canonicalize(context), contextIdentity: canonicalize(identity) };
  }
  return { context: isEmpty(context) ? null : canonicalize(context), contextIdentity: null };
}

const isEmpty = (object: object) => Object.keys(object).length === 0;

/** Puts the members of this segment; objects of both segments have the same position. */
function putList(
  object: JsonObject,
  field: EventField,
  list: readonly JsonObject[],
  isIdentity: boolean,
  personal: readonly string[],
): void {
  const isPersonal = (name: string) =>
    field.members?.[name]?.segment === 'identity' || personal.includes(`${field.name}.${name}`);
  const isOf = (name: string) => isPersonal(name) === isIdentity;
  const part = list.map((item) =>
    Object.fromEntries(Object.entries(item).filter(([name]) => isOf(name))),
  );
  if (!part.every(isEmpty)) putAt(object, field, part);
}

/** The fields of version 2 in the order of JSON, from both texts. */
export function contextOf({ context, contextIdentity }: ContextTexts): EventContext {
  const [own, personal] = [parsed(context), parsed(contextIdentity)];
  const members: JsonObject = {};
  for (const field of contextFields) {
    const value = valueAt(own, field) as JsonValue | undefined;
    const more = valueAt(personal, field) as JsonValue | undefined;
    if (value === undefined && more === undefined) continue;
    const both = field.kind === 'list' ? joined(value ?? [], more ?? []) : (value ?? more ?? null);
    putAt(members, field, both);
  }
  return members as EventContext;
}

/** Parses trusted text; JSON.parse may return wrong names (decision 6). */
function parsed(text: string | null): JsonObject {
  return text === null ? {} : (parseStrictJson(text).value as JsonObject);
}

function joined(one: JsonValue, other: JsonValue): JsonObject[] {
  const lists = [one, other] as JsonObject[][];
  const length = Math.max(...lists.map((list) => list.length));
  return Array.from({ length }, (_, at) => Object.assign({}, ...lists.map((list) => list[at])));
}

/** The text of the segment `identity` of an event with personal fields of version 2. */
export function identityText(e: CommittedEvent): string {
  const { actor, resource, ...lists } = parsed(e.contextIdentity);
  const { actorEmail: email, actorIp: ip, actorUserAgent: userAgent, resourceName: name } = e;
  return canonicalize({
    ...lists,
    actor: { ...(actor as JsonObject), email, ip, userAgent },
    resource: { ...(resource as JsonObject), name },
  });
}

/** The fields of version 2 as they are inserted into the JSON text of an event. */
export interface ContextPieces {
  ofActor: string;
  ofAction: string;
  ofResource: string;
  others: string;
}

const noPieces: ContextPieces = { ofActor: '', ofAction: '', ofResource: '', others: '' };

export function contextPieces(e: ContextTexts): ContextPieces {
  if (e.context === null && e.contextIdentity === null) return noPieces;
  const { actor = {}, outcome, resource = {}, ...others } = contextOf(e);
  return {
    ofActor: membersText(actor),
    ofAction: outcome === undefined ? '' : membersText({ outcome }),
    ofResource: membersText(resource),
    others: membersText(others),
  };
}

function membersText(members: object): string {
  const texts = Object.entries(members).map(([name, value]) => `,"${name}":${canonicalize(value)}`);
  return texts.join('');
}

/** Ends in `failed` as a word of its own: `login_failed`, `payment.failed`. */
const failedAction = /[._]failed$/;

/** The stated outcome; else a failure if the action says so. Null if neither tells. */
export function outcomeSaid(stated: Outcome | undefined, action: string): Outcome | null {
  return stated ?? (failedAction.test(action) ? 'failure' : null);
}

export function outcomeOf(event: ContextTexts & { action: string }): Outcome | null {
  const { outcome } = event.context === null ? {} : contextOf(event);
  return outcomeSaid(outcome, event.action);
}

/** The address of a person in lower case; `''` for none. An own id with an `@` stands in for it. */
function addressKey({ email, externalId }: Pick<OnBehalfOf, 'email' | 'externalId'>): string {
  return emailKey(email ?? (externalId?.includes('@') ? externalId : ''));
}

/** The actor's address, as `addressKey`. */
export function actorAddress(event: ContextTexts & { actorEmail: string | null }): string {
  const { actorEmail, contextIdentity } = event;
  if (actorEmail !== null) return emailKey(actorEmail);
  return contextIdentity?.includes('@') ? addressKey(contextOf(event).actor ?? {}) : '';
}

/** The people the actor acts for: ids, and addresses in lower case; sorted. */
export function personKeys(event: ContextTexts): string[] {
  const { onBehalfOf = [] } = contextOf(event);
  const keys = onBehalfOf.flatMap((person) => [person.id ?? [], addressKey(person) || []]);
  return [...new Set(keys.flat())].sort();
}

/** The targets: ids, and own ids in NFC; each once, sorted. */
export function targetKeys(event: ContextTexts): string[] {
  const { targets = [] } = contextOf(event);
  const keys = targets.flatMap(({ id, externalId }) => [id ?? [], externalId?.normalize() ?? []]);
  return [...new Set(keys.flat())].sort();
}

/** The actor and the people it acts for: whose identity an event holds. */
export function personIds(event: ContextTexts & { actorId: string }): string[] {
  const { onBehalfOf = [] } = event.context === null ? {} : contextOf(event);
  return [event.actorId, ...onBehalfOf.flatMap(({ id }) => id ?? [])];
}

const none: ContextTexts = { context: null, contextIdentity: null };

/**
 * The fields of version 2 of an event whose values are usable. An empty value counts as not sent.
 */
export function takeContext(event: object): ContextTexts {
  if (contextFields.every((field) => isUnset(valueAt(event, field)))) return none;
  const taken: Members = {};
  for (const field of contextFields) {
    const value = takenValue(field, valueAt(event, field));
    if (value !== undefined) putAt(taken, field, value);
  }
  return contextTexts(taken);
}

/** What tracers that are switched off send: W3C Trace Context calls it invalid. */
const noTrace = /^0+$/;

function isUnset(value: unknown): boolean {
  if (value === undefined || value === null || value === '') return true;
  return typeof value === 'object' && Object.keys(value).length === 0;
}

function takenValue({ kind, members = {} }: EventField, value: unknown): unknown {
  if (isUnset(value) || (kind === 'traceId' && noTrace.test(value as string))) return undefined;
  if (kind === 'object') return takenMembers(members, value as Members);
  if (kind !== 'list') return spelt(kind, value);
  return (value as Members[]).map((item) => takenMembers(members, item));
}

function takenMembers(rules: Readonly<Record<string, MemberRule>>, object: Members): Members {
  const taken: Members = {};
  for (const [name, { kind }] of Object.entries(rules)) {
    if (!isUnset(object[name])) taken[name] = spelt(kind, object[name]);
  }
  return taken;
}

function spelt(kind: EventField['kind'], value: unknown): unknown {
  return kind === 'uuid' || kind === 'traceId' ? (value as string).toLowerCase() : value;
}

import { checkJson, type JsonObject, type JsonValue } from '../json/canonical.ts';
import { isCount, isObject } from '../json/strict-json.ts';
import { type EventField, eventFields, type MemberRule } from './event-fields.ts';
import { isUuid } from './event-id.ts';
import { externalUuid } from './external-id.ts';
import { boundedPath, type FieldProblem, fieldProblemsMax, pointerOf } from './field-problem.ts';
import { emailKey, repairedText } from './field-rules.ts';
import { membersMax, stateBytesMax } from './limits.ts';
import type { Masker } from './masking.ts';
import { Notes } from './notes.ts';
import { takeAsSent, takeDiff, takeMetadata } from './usable-maps.ts';
import { type Take, type TextRule, textTake } from './usable-text.ts';

/*
 * Takes the usable part of an event by the table of fields. What depends on the code of a producer
 * may refuse the event; a value that depends on its data is cut or dropped, and noted.
 */

export type Members = Record<string, unknown>;

/** What the usable part of an event depends on. */
interface UsableContext {
  masker: Masker;
  /** The tenant in which own ids get their UUIDs. */
  namespace: string;
}

/**
 * The event with usable values only, or null if `notes` says why it is refused. The body that was
 * sent stays as it is.
 */
export function usableEvent(raw: unknown, context: UsableContext, notes: Notes): Members | null {
  if (!isObject(raw)) {
    notes.refuse('', 'invalid_type', 'must be an object');
    return null;
  }
  // An object with too many members is refused without checking them.
  if (Object.keys(raw).length > membersMax) {
    notes.refuse('', 'too_many', `has more than ${membersMax} members`);
    return null;
  }
  const { sent, problems } = storable(raw, notes);
  const isReadable = problems.length === 0;
  const masked = isReadable ? maskedMembers(sent, context.masker, notes) : sent;
  const known = problems.map(({ path }) => path);
  const isKnown = (path: string) => known.some((at) => path === at || path.startsWith(`${at}/`));
  const found = new Notes();
  const taken = takeEventMembers(context.namespace)(masked, found) as Members | undefined;
  notes.problems.push(...problems, ...found.problems.filter(({ path }) => !isKnown(path)));
  found.problems.length = 0;
  notes.add(found);
  return taken ?? null;
}

/** No object of an event has more, not even a state: a member takes five bytes, as in `"":0,`. */
const anyMembersMax = Math.floor(stateBytesMax / 5);

/** Forbidden JSON values. Depth counts from each member, so a state may have 32 levels. */
export function jsonProblems(event: Members): FieldProblem[] {
  const problems: FieldProblem[] = [];
  for (const [field, value] of Object.entries(event)) {
    if (problems.length >= fieldProblemsMax) break;
    if (isObject(value) && Object.keys(value).length > anyMembersMax) {
      const message = `has more than ${anyMembersMax} members`;
      problems.push({ path: pointerOf(field), code: 'too_many', message });
      continue;
    }
    for (const found of [checkJson(field), checkJson(value)]) {
      for (const { path, ...rest } of found) {
        problems.push({ path: boundedPath(pointerOf(field) + path), ...rest });
      }
    }
  }
  return problems;
}

/** The event without what JSON can write and no log can hold, and what refuses it nevertheless. */
function storable(raw: Members, notes: Notes): { sent: Members; problems: FieldProblem[] } {
  const problems = jsonProblems(raw);
  const has = (...codes: string[]) => problems.some(({ code }) => codes.includes(code));
  if (!has('null_character', 'lone_surrogate', 'too_deep')) return { sent: raw, problems };
  const sent = withoutDeepStates(withoutUnstorable(raw, notes), notes);
  return { sent, problems: jsonProblems(sent) };
}

/**
 * U+0000 and halves of surrogate pairs have no place in PostgreSQL or canonical JSON. They are
 * written as code points, in names of members too.
 */
function withoutUnstorable(event: Members, notes: Notes): Members {
  const repaired = (value: unknown, path: string, depth: number): unknown => {
    if (typeof value === 'string') {
      const text = repairedText(value);
      if (text !== value) notes.dropped(path, value);
      return text;
    }
    // Deeper ones are refused, or dropped with their state.
    if (typeof value !== 'object' || value === null || depth > 40) return value;
    if (Array.isArray(value)) {
      return value.map((each, at) => repaired(each, path + pointerOf(at), depth + 1));
    }
    const members = Object.entries(value).map(([name, member]) => {
      const written = repairedText(name);
      const at = path + pointerOf(written);
      if (written !== name) notes.dropped(at, name);
      return [written, repaired(member, at, depth + 1)];
    });
    return Object.fromEntries(members);
  };
  return repaired(event, '', 0) as Members;
}

function withoutDeepStates(event: Members, notes: Notes): Members {
  const isDeep = (name: string) =>
    isObject(event[name]) && checkJson(event[name]).some(({ code }) => code === 'too_deep');
  const deep = ['before', 'after'].filter(isDeep);
  if (deep.length === 0) return event;
  for (const name of deep) notes.warn('value_dropped', pointerOf(name));
  return { ...event, ...Object.fromEntries(deep.map((name) => [name, null])) };
}

/** A host may send a token as the session. Ids are left alone: they must stay distinct. */
const maskedFields = ['metadata', 'via'] as const;

/** Masked before texts are cut, because the beginning of a secret is not recognised. */
function maskedMembers(event: Members, masker: Masker, notes: Notes): Members {
  let copy = event;
  for (const name of maskedFields) {
    if (!isObject(event[name])) continue;
    const { value, masked } = masker.maskState(event[name] as JsonObject as JsonValue);
    if (!masked) continue;
    notes.warn('secret_masked', pointerOf(name));
    copy = { ...copy, [name]: value };
  }
  return copy;
}

/** Takes a value that is no text of an event. */
function takeOf(rule: TextRule, path: string): Take {
  const typed =
    (fits: (value: unknown) => boolean, type: string): Take =>
    (value, notes) => {
      if (!fits(value)) notes.refuse(path, 'invalid_type', `must be ${type}`);
      return value;
    };
  switch (rule.kind) {
    case 'boolean':
      return typed((value) => typeof value === 'boolean', 'true or false');
    case 'sequence':
      return typed(isCount, 'a whole number from 0');
    case 'state':
      return typed((value) => value === null || isObject(value), 'an object or null');
    case 'diff':
      return takeDiff;
    case 'texts':
      return takeAsSent;
    case 'metadata':
      return takeMetadata;
    default:
      return textTake(rule, path);
  }
}

/** A field of version 2 may be null, as if it were not sent. */
function fieldTake(field: EventField, path: string, namespace: string): Take {
  const rule = { ...field, nullable: field.nullable === true || field.since === 2 };
  const take = compoundTake(field, path, namespace) ?? takeOf(rule, path);
  if (field.since !== 2) return take;
  return (value, notes) => (value === null ? undefined : take(value, notes));
}

function compoundTake(field: EventField, path: string, namespace: string): Take | null {
  const { kind, members = {}, itemsMax = 0 } = field;
  if (kind === 'object') {
    const take = partTake(membersTake(members, path, namespace), path);
    // One without members counts as not sent, as an empty text or list does.
    return (value, notes) =>
      isObject(value) && Object.keys(value).length === 0 ? value : take(value, notes);
  }
  if (kind !== 'list') return null;
  const items = Array.from({ length: itemsMax }, (_, at) => {
    const itemPath = path + pointerOf(at);
    return partTake(membersTake(members, itemPath, namespace), itemPath);
  });
  return (list, notes) => {
    if (!Array.isArray(list)) {
      notes.refuse(path, 'invalid_type', 'must be a list of objects');
      return undefined;
    }
    if (list.length > itemsMax) {
      notes.cut(path, JSON.stringify(list.slice(itemsMax)), '');
    }
    const kept = list.slice(0, itemsMax).map((item, at) => items[at]?.(item, notes));
    return kept.filter((item) => item !== undefined);
  };
}

/** Faults of a producer's code, which refuse the event wherever they are. */
const codeFaults = new Set(['invalid_type', 'unknown_field', 'too_many']);

/** An optional object that lacks what it needs is dropped as a whole. */
function partTake(take: Take, path: string): Take {
  return (value, notes) => {
    const part = new Notes();
    const taken = take(value, part);
    const isUsable = part.problems.length === 0;
    if (isUsable || part.problems.some(({ code }) => codeFaults.has(code))) notes.add(part);
    else notes.dropped(path, value);
    return isUsable ? taken : undefined;
  };
}

/** A member that an object needs, unless it has another one. */
interface Required {
  name: string;
  unless: readonly string[];
}

function membersTake(
  members: Readonly<Record<string, MemberRule>>,
  at: string,
  namespace: string,
): Take {
  const takes = new Map<string, Take>();
  const required: Required[] = [];
  for (const [name, rule] of Object.entries(members)) {
    const nullable = rule.sent === undefined;
    takes.set(name, takeOf({ ...rule, nullable }, at + pointerOf(name)));
    if (!nullable) required.push({ name, unless: rule.unless ?? [] });
  }
  // An actor has no type of resource: `type` is not a word there.
  const isResource = members.type?.kind === 'word';
  const identify = members.id?.kind === 'uuid' ? { isResource, namespace } : undefined;
  return (value, notes) => takeMembers(value, at, { takes, required, identify }, notes);
}

let lastNamespace = '';
let lastTake: Take | undefined;

/** Compiled once for each tenant in a row: own ids become UUIDs of the tenant. */
function takeEventMembers(namespace: string): Take {
  if (namespace !== lastNamespace || lastTake === undefined) {
    lastTake = objectTake(null, namespace);
    lastNamespace = namespace;
  }
  return lastTake;
}

function objectTake(owner: string | null, namespace: string): Take {
  const at = owner === null ? '' : pointerOf(owner);
  const takes = new Map<string, Take>();
  const required: Required[] = [];
  for (const field of eventFields.filter(({ sent }) => sent !== undefined)) {
    const name = owner === null ? (field.owner ?? field.name) : field.name;
    if ((owner !== null && field.owner !== owner) || takes.has(name)) continue;
    const isInner = owner === null && field.owner !== null;
    const path = at + pointerOf(name);
    takes.set(name, isInner ? objectTake(name, namespace) : fieldTake(field, path, namespace));
    if (field.sent === 'required')
      required.push({ name, unless: (isInner ? undefined : field.unless) ?? [] });
  }
  const identify = owner === null ? undefined : { isResource: owner === 'resource', namespace };
  return (value, notes) => takeMembers(value, at, { takes, required, identify }, notes);
}

/** How the members of an object are taken. */
interface ObjectTake {
  takes: ReadonlyMap<string, Take>;
  required: readonly Required[];
  identify?: { isResource: boolean; namespace: string } | undefined;
}

function takeMembers(value: unknown, at: string, object: ObjectTake, notes: Notes): unknown {
  const { takes, required, identify } = object;
  if (!isObject(value)) {
    notes.refuse(at, 'invalid_type', 'must be an object');
    return undefined;
  }
  if (Object.keys(value).length > membersMax) {
    notes.refuse(at, 'too_many', `has more than ${membersMax} members`);
    return undefined;
  }
  const members = identify ? identified(value, at, identify, notes) : value;
  for (const { name, unless } of required) {
    if (members[name] !== undefined || unless.some((other) => members[other])) continue;
    const others = unless.length > 0 ? `, unless ${unless.join(' or ')} is given` : '';
    const message = `is required${others}`;
    notes.refuse(at + pointerOf(name), 'required', message);
  }
  const taken: Members = {};
  for (const [name, member] of Object.entries(members)) {
    const take = takes.get(name);
    if (take === undefined) {
      notes.refuse(at + pointerOf(name), 'unknown_field', 'is not a field of this object');
    } else if (member !== undefined) taken[name] = take(member, notes);
  }
  return taken;
}

/** The longest own id that is told from others: the rest of a longer one does not count. */
const ownIdLengthMax = 16_384;

/**
 * The object with a UUID as its `id`. An id that is none is the host's own: a number, or a text. A
 * person with neither has the UUID of the e-mail address. It is derived from what was sent, so that
 * ids with the same beginning stay distinct when they are cut.
 */
function identified(
  sent: Members,
  at: string,
  { isResource, namespace }: { isResource: boolean; namespace: string },
  notes: Notes,
): Members {
  const { id, externalId } = sent;
  if (typeof id === 'string' && isUuid(id) && typeof externalId !== 'number') return sent;
  const members = { ...sent };
  const [own, external] = [ownId(id), ownId(externalId)];
  if (external !== undefined) members.externalId = external;
  if (own !== undefined && !isUuid(own)) {
    delete members.id;
    if (external === undefined) members.externalId = own;
    else if (own !== external) notes.dropped(at + pointerOf('id'), own);
  } else if (id === null || id === '') delete members.id;
  if (members.id !== undefined) return members;
  const name = typeof members.externalId === 'string' ? members.externalId : '';
  const type = isResource ? members.type : 'actor';
  if (name !== '' && typeof type === 'string') {
    members.id = externalUuid(namespace, type.slice(0, 1_024), name.slice(0, ownIdLengthMax));
  } else if (!isResource && typeof members.email === 'string' && members.email !== '') {
    const address = emailKey(members.email.slice(0, ownIdLengthMax).normalize('NFC'));
    members.id = externalUuid(namespace, 'actor', `email:${address}`);
  }
  return members;
}

/** The text of an own id; undefined for a value that is none. */
function ownId(value: unknown): string | undefined {
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' && value !== '' ? value : undefined;
}

import {
  type EventContext,
  externalIdLengthMax,
  isExternalId,
  isUuid,
  type OnBehalfOf,
  onBehalfOfMax,
  viaTextLengthMax,
} from '@indelible/protocol';
import type { EventInput, Identity } from '../api-types.ts';
import type { HeaderOf } from './client-address.ts';

type Via = NonNullable<EventContext['via']>;
type Claims = Readonly<Record<string, unknown>>;

/** The signed-in user. */
type Person = { id: string; email?: string | null; role: string };

/** The parts of an event that tell of an agent. */
export type Delegation = Pick<EventInput, 'actor' | 'onBehalfOf'> & { clientId?: string };

/**
 * The agent that acts for `person`, by the claim `act` of a verified token (RFC 8693, section 4.1):
 * `act` is the current actor, an `act` inside it the one before. Null without this claim. The agent
 * keeps the person's role, whose rights it uses: so an operator's agent is an operator.
 */
export function delegationOf(
  person: Person | undefined,
  given: object | null | undefined,
): Delegation | null {
  const claims = (given ?? {}) as Claims;
  const [current, ...before] = actorsOf(claims);
  if (current === undefined) return null;
  const through = before.map((each): OnBehalfOf => ({ ...identityOf(each), type: 'agent' }));
  const actor = { ...(identityOf(current) ?? unknownAgent), ...nameOf(current) };
  return {
    actor: { ...actor, role: person?.role ?? 'agent', type: 'agent' },
    // The person comes last, and is never left out of a longer chain.
    onBehalfOf: [
      ...through.filter(isNamed).slice(0, onBehalfOfMax - 1),
      ...[subjectOf(person, claims)].filter(isNamed),
    ],
    ...member('clientId', claims.client_id ?? claims.azp),
  };
}

const unknownAgent = { id: '00000000-0000-0000-0000-000000000000' };
/** No token is longer than a header; the bound is for hosts that take claims from elsewhere. */
const actorsMax = 16;

function actorsOf(claims: Claims): Claims[] {
  const actors: Claims[] = [];
  for (let { act } = claims; isObject(act) && actors.length < actorsMax; { act } = act) {
    actors.push(act);
  }
  return actors;
}

function subjectOf(person: Person | undefined, claims: Claims): OnBehalfOf {
  if (!person) return { ...identityOf(claims) };
  const { id, email, role } = person;
  return { ...identityBy(id), ...(email ? { email } : {}), role, type: 'user' };
}

/** An id that is no UUID is the product's own: the service makes the UUID. */
export function identityBy(id: string): Identity {
  return isUuid(id) ? { id } : { externalId: id };
}

/** Null for a `sub` that the service would refuse: the event must not be lost for it. */
function identityOf({ sub }: Claims): Identity | null {
  if (typeof sub !== 'string' || sub === '') return null;
  const id = sub.slice(0, externalIdLengthMax);
  return isExternalId(id) ? identityBy(id) : null;
}

const nameOf = ({ name }: Claims) => member('name', name);
const isNamed = ({ id, externalId }: OnBehalfOf) => (id ?? externalId) !== undefined;
const isObject = (value: unknown): value is Claims => typeof value === 'object' && value !== null;

/**
 * How a request of the Model Context Protocol came, by the headers of its HTTP transport; null for
 * other requests. The tool is known since version 2026-07-28. Clients write these headers: they
 * are cut, never a reason to refuse an event, and prove nothing.
 */
export function mcpOf(header: HeaderOf): Via | null {
  const [sessionId, method] = [header('mcp-session-id'), header('mcp-method')];
  if (!(sessionId || method || header('mcp-protocol-version'))) return null;
  const name = method === 'tools/call' ? header('mcp-name') : null;
  return {
    ...{ channel: 'mcp' },
    ...member('tool', name && plainName(name)),
    ...member('sessionId', sessionId),
  };
}

/** Names that no header can hold come as `=?base64?…?=`. */
function plainName(name: string): string {
  const [, base64] = /^=\?base64\?([A-Za-z0-9+/]*={0,2})\?=$/.exec(name) ?? [];
  if (base64 === undefined || base64.length % 4 !== 0) return name;
  const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  return new TextDecoder().decode(bytes);
}

/** A member for a text, cut to what the service takes; none for anything else. */
function member<Name extends string>(name: Name, value: unknown): { [name in Name]?: string } {
  if (typeof value !== 'string' || value === '') return {};
  return { [name]: value.slice(0, viaTextLengthMax).toWellFormed() } as { [name in Name]: string };
}

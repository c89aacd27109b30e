import {
  actingFor,
  agentsOf,
  type EventContext,
  identityBy,
  identityOf,
  viaTextLengthMax,
} from '@indelible/protocol';
import type { EventInput } from '../api-types.ts';
import type { HeaderOf } from './client-address.ts';

type Via = NonNullable<EventContext['via']>;

/** The signed-in user. */
type Person = { id: string; email?: string | null; role: string };

/** The parts of an event that tell of an agent. */
export type Delegation = Pick<EventInput, 'actor' | 'onBehalfOf'> & { clientId?: string };

/** The agent that acts for `person` by the claims of a verified token; null if none does. */
export function delegationOf(
  person: Person | undefined,
  claims: object | null | undefined,
): Delegation | null {
  const [agent, ...before] = agentsOf(claims);
  if (agent === undefined) return null;
  const { client_id, azp, sub } = (claims ?? {}) as Record<string, unknown>;
  const subject = person ? personOf(person) : { ...identityOf({ sub }) };
  return { ...actingFor([agent, ...before], subject), ...member('clientId', client_id ?? azp) };
}

function personOf({ id, email, role }: Person) {
  return { ...identityBy(id), ...(email ? { email } : {}), role, type: 'user' as const };
}

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
    channel: 'mcp',
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

/** A member for a text, without what the service refuses in it; none for anything else. */
function member<Name extends string>(name: Name, value: unknown): { [name in Name]?: string } {
  if (typeof value !== 'string') return {};
  const text = value.replaceAll('\0', '').slice(0, viaTextLengthMax).toWellFormed();
  return text === '' ? {} : ({ [name]: text } as { [name in Name]: string });
}

import type { OnBehalfOf } from './context.ts';
import { isUuid, nilUuid } from './event-id.ts';
import { externalUuid } from './external-id.ts';
import { isExternalId, isVisible, operatorRole } from './field-rules.ts';
import { externalIdLengthMax, nameLengthMax, onBehalfOfMax } from './limits.ts';

/** A UUID, or an id of the host product's own, from which the service makes one; or both. */
export type Identity = { id: string; externalId?: string } | { id?: never; externalId: string };

/** A program that acts with the token of a person. */
export type Agent = Identity & { name?: string };

type Claims = Readonly<Record<string, unknown>>;

/** No token is longer than a header; the bound is for hosts that take claims from elsewhere. */
const actorsMax = 16;

/**
 * The agents of a verified token, by its claim `act` (RFC 8693, section 4.1): `act` is the current
 * actor, an `act` inside it the one before. None without this claim; with a malformed one an agent
 * without an id, because the person did not act. One less than `onBehalfOf` may have beside the
 * actor, so that the person is never left out of a longer chain.
 */
export function agentsOf(claims: object | null | undefined): Agent[] {
  const actors: Claims[] = [];
  let { act } = (claims ?? {}) as Claims;
  while (act !== undefined && act !== null && actors.length < actorsMax) {
    const actor: Claims = isObject(act) ? act : {};
    actors.push(actor);
    act = actor.act;
  }
  const [current, ...before] = actors;
  if (current === undefined) return [];
  const named = before.filter((actor) => identityOf(actor) !== null);
  return [current, ...named].slice(0, onBehalfOfMax).map(agentOf);
}

/**
 * Whether the claim `act` is absent, or names each actor by a `sub` that can be recorded uncut: two
 * agents with one beginning of 200 characters would become one.
 */
export function namesAgents({ act }: Claims): boolean {
  if (act === undefined) return true;
  if (!isObject(act) || identityOf(act) === null) return false;
  return String(act.sub).length <= externalIdLengthMax && namesAgents(act);
}

/**
 * The parts of an event that say that the first of these agents acts, for the others and for
 * `person`. The agent has the person's role, whose rights it uses: so an operator's agent is an
 * operator.
 */
export function actingFor(
  [{ ...agent }, ...before]: readonly [Agent, ...Agent[]],
  person: OnBehalfOf,
) {
  const through = before.map((each): OnBehalfOf => ({ ...each, type: 'agent' }));
  const isNamed = (person.id ?? person.externalId) !== undefined;
  return {
    actor: { ...agent, role: person.role ?? 'agent', type: 'agent' as const },
    onBehalfOf: isNamed ? [...through, person] : through,
  };
}

/** Whether the actor, or a person it acts for, is an operator; of an event of any shape. */
export function isOperators({ actor, onBehalfOf }: { actor?: unknown; onBehalfOf?: unknown }) {
  const people = Array.isArray(onBehalfOf) ? onBehalfOf.slice(0, onBehalfOfMax) : [];
  return [actor, ...people].some((party) => isObject(party) && party.role === operatorRole);
}

/** With their ids in the tenant's log. */
export function agentsIn(tenantId: string, agents: readonly Agent[]): (Agent & { id: string })[] {
  return agents.map((agent) => ({
    ...agent,
    id: agent.id?.toLowerCase() ?? externalUuid(tenantId, 'actor', agent.externalId ?? ''),
  }));
}

/** An id that is no UUID is the product's own. */
export function identityBy(id: string): Identity {
  return isUuid(id) ? { id } : { externalId: id };
}

/** Null for a `sub` that the service would refuse: the event must not be lost for it. */
export function identityOf({ sub }: { sub?: unknown }): Identity | null {
  if (typeof sub !== 'string' || sub === '') return null;
  const id = sub.slice(0, externalIdLengthMax);
  return isExternalId(id) ? identityBy(id) : null;
}

function agentOf(actor: Claims): Agent {
  const identity = identityOf(actor) ?? { id: nilUuid };
  const given = typeof actor.name === 'string' ? actor.name : '';
  // Without what the service refuses: the event must not be lost for it.
  const name = given.replaceAll('\0', '').slice(0, nameLengthMax).toWellFormed();
  return isVisible(name) ? { ...identity, name } : identity;
}

const isObject = (value: unknown): value is Claims => typeof value === 'object' && value !== null;

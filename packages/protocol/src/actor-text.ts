import type { EventContext, OnBehalfOf } from './event/context.ts';
import type { ActorType } from './event/event-fields.ts';

/** An actor, or a person for whom it acts. */
export type Party = Omit<OnBehalfOf, 'email'> & { email?: string | null };

/** How a language says who acted. */
export interface ActorWords {
  kinds: Readonly<Record<ActorType, string>>;
  /** Stands between an actor and the person for whom it acts. */
  actsFor: string;
}

/** For texts that are English for every reader: the command line, and messages of streams. */
export const englishActors: ActorWords = {
  kinds: { user: 'person', service: 'service', agent: 'assistant', system: 'system' },
  actsFor: 'for',
};

/** What people call a party, the e-mail address first; null if the event does not say it. */
export function partyName({ email, name, externalId }: Party): string | null {
  return email ?? name ?? externalId ?? null;
}

/**
 * Who acted, and for whom: `assistant Planner for ana@example.com`. `nameOf` makes each name safe
 * to show, and decides about parties without one. The kind of a person is not said.
 */
export function actorText(
  { actor, onBehalfOf = [] }: { actor: Party; onBehalfOf?: EventContext['onBehalfOf'] },
  { kinds, actsFor }: ActorWords,
  nameOf: (party: Party) => string,
): string {
  const named = (party: Party) => {
    const { type = 'user' } = party;
    return type === 'user' ? nameOf(party) : `${kinds[type]} ${nameOf(party)}`;
  };
  return [actor, ...onBehalfOf].map(named).join(` ${actsFor} `);
}

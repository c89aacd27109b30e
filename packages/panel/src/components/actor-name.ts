import type { AuditEvent } from '@indelible/client';
import {
  type ActorType,
  actorText,
  nilUuid,
  type Party,
  partyName,
  revealed,
} from '@indelible/protocol';
import { type Texts, useTexts, wordOf } from '../i18n/texts.tsx';
import { isErased } from './Erased.tsx';

/** The name of an actor, or of a person for whom it acts; without one, its kind, role or id. */
export function nameOf(party: Party, event: AuditEvent, t: Texts): string {
  const name = partyName(party);
  if (name !== null) return revealed(name);
  if (isErased(event, 'identity')) return t.erased.value;
  if (isProgram(party)) return t.actors.kinds[party.type];
  return party.role === undefined
    ? (party.id ?? t.actors.unnamed)
    : wordOf(t.actors.roles, party.role);
}

function isProgram(party: Party): party is Party & { type: Exclude<ActorType, 'user'> } {
  return party.type !== undefined && party.type !== 'user';
}

/** What tells an actor from others of its name: kind and role; without a name, its id. */
export function noteOn(event: AuditEvent, t: Texts): string {
  const { actor } = event;
  if (partyName(actor) === null && !isErased(event, 'identity')) {
    const isPerson = !isProgram(actor) && !Object.hasOwn(t.actors.roles, actor.role);
    if (isPerson) return t.events.noEmail;
    return actor.id === nilUuid ? '' : actor.id.slice(0, 8);
  }
  const kind = isProgram(actor) ? [t.actors.kinds[actor.type]] : [];
  return [...kind, wordOf(t.actors.roles, actor.role)].join(' · ');
}

/** Who acted and for whom, as one text. */
export function useActorText(): (event: AuditEvent) => string {
  const t = useTexts();
  return (event) => actorText(event, t.actors, (party) => nameOf(party, event, t));
}

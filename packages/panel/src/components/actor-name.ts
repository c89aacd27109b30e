import type { AuditEvent } from '@indelible/client';
import { actorText, type Party, partyName, revealed } from '@indelible/protocol';
import { type Texts, useTexts, wordOf } from '../i18n/texts.tsx';
import { isErased } from './Erased.tsx';

/** The name of an actor, or of a person for whom it acts; without one, its kind, role or id. */
export function nameOf(party: Party, event: AuditEvent, t: Texts): string {
  const name = partyName(party);
  if (name !== null) return revealed(name);
  if (isErased(event, 'identity')) return t.erased.value;
  if (party.type !== undefined && party.type !== 'user') return t.actors.kinds[party.type];
  return party.role === undefined ? (party.id ?? t.actors.unnamed) : wordOf({}, party.role);
}

/** Who acted and for whom, as one text. */
export function useActorText(): (event: AuditEvent) => string {
  const t = useTexts();
  return (event) => actorText(event, t.actors, (party) => nameOf(party, event, t));
}

import type { AuditEvent } from '@indelible/client';
import { externalUuid, type Party, partyName } from '@indelible/protocol';
import { Bot } from 'lucide-react';
import { useTexts } from '../i18n/texts.tsx';
import { nameOf } from './actor-name.ts';
import { ErasedValue, isErased } from './Erased.tsx';
import { Value } from './Value.tsx';

interface PartyNameProps {
  event: AuditEvent;
  party: Party;
  facet: 'user' | 'onBehalfOf';
  tabbable?: boolean | undefined;
}

/** The value that finds the party: its address, the product's own id, or its UUID. */
function filterOf({ tenantId }: AuditEvent, { email, externalId, id }: Party): string {
  if (email) return email.toLowerCase();
  // An event that was sent with both ids is found by its UUID only.
  const isFound = externalId !== undefined && externalUuid(tenantId, 'actor', externalId) === id;
  return isFound ? externalId : (id ?? '');
}

/** The name of an actor, or of a person for whom it acts. */
export function PartyName({ event, party, facet, tabbable = true }: PartyNameProps) {
  const t = useTexts();
  const name = nameOf(party, event, t);
  const isGone = partyName(party) === null && isErased(event, 'identity');
  return (
    <Value facet={facet} value={filterOf(event, party)} label={name} tabbable={tabbable}>
      {party.type === 'agent' && (
        <Bot aria-hidden className="mr-1 inline size-3.5 align-[-0.15em] text-accent" />
      )}
      {isGone ? <ErasedValue /> : <span dir="auto">{name}</span>}
    </Value>
  );
}

/** For whom the actor acted, nearest first. */
export function OnBehalfOf({ event, tabbable }: Pick<PartyNameProps, 'event' | 'tabbable'>) {
  const t = useTexts();
  return event.onBehalfOf?.map((party) => (
    <span key={party.id ?? nameOf(party, event, t)} className="flex gap-1.5 leading-6">
      <span className="shrink-0 text-faint">{t.actors.actsFor} </span>
      <span className="min-w-0 truncate">
        <PartyName event={event} party={party} facet="onBehalfOf" tabbable={tabbable} />
      </span>
    </span>
  ));
}

import type { AuditEvent } from '@indelible/client';
import {
  type ActorType,
  actorText,
  externalUuid,
  nilUuid,
  type Party,
  partyName,
  revealed,
} from '@indelible/protocol';
import { BadgeCheck, Bot, KeyRound } from 'lucide-react';
import { roleText, type Texts, useTexts } from '../i18n/texts.tsx';
import { ErasedValue, isErased } from './Erased.tsx';
import { Value } from './Value.tsx';

interface PartyNameProps {
  event: AuditEvent;
  party: Party;
  facet: 'user' | 'onBehalfOf';
}

/** The value that finds the party: its address, the product's own id, or its UUID. */
function filterOf({ tenantId }: AuditEvent, { email, externalId, id }: Party): string {
  if (email) return email.toLowerCase();
  // An event that was sent with both ids is found by its UUID only.
  const isFound = externalId !== undefined && externalUuid(tenantId, 'actor', externalId) === id;
  return isFound ? externalId : (id ?? '');
}

/** The name of an actor, or of a person for whom it acts. */
export function PartyName({ event, party, facet }: PartyNameProps) {
  const t = useTexts();
  const name = nameOf(party, event, t);
  const isGone = partyName(party) === null && isErased(event, 'identity');
  return (
    <Value facet={facet} value={filterOf(event, party)} label={name}>
      {party.type === 'agent' && (
        <Bot aria-hidden className="mr-1 inline size-3.5 align-[-0.15em] text-accent" />
      )}
      {isGone ? <ErasedValue /> : <span dir="auto">{name}</span>}
    </Value>
  );
}

/** For whom the actor acted, nearest first. */
export function OnBehalfOf({ event }: { event: AuditEvent }) {
  const t = useTexts();
  return event.onBehalfOf?.map((party) => (
    <span key={party.id ?? nameOf(party, event, t)} className="flex gap-1.5 leading-6">
      <span className="shrink-0 text-faint">{t.actors.actsFor} </span>
      <span className="min-w-0 truncate">
        <PartyName event={event} party={party} facet="onBehalfOf" />
      </span>
    </span>
  ));
}

/** The name of an actor, or of a person for whom it acts; without one, its kind, role or id. */
function nameOf(party: Party, event: AuditEvent, t: Texts): string {
  const name = partyName(party);
  if (name !== null) return revealed(name);
  if (isErased(event, 'identity')) return t.erased.value;
  if (isProgram(party)) return t.actors.kinds[party.type];
  return party.role === undefined
    ? (party.id ?? t.actors.unnamed)
    : roleText(t.actors.roles, party.role);
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
  return [...kind, roleText(t.actors.roles, actor.role)].join(' · ');
}

/** How a list of actors names one; null if others share its id, or its name was erased. */
export function actorLabel(event: AuditEvent, t: Texts): string | null {
  const { actor } = event;
  if (partyName(actor) !== null) return nameOf(actor, event, t);
  if (actor.id === nilUuid || isErased(event, 'identity')) return null;
  return `${nameOf(actor, event, t)} · ${actor.id.slice(0, 8)}`;
}

/** Who acted and for whom, as one text. */
export function useActorText(): (event: AuditEvent) => string {
  const t = useTexts();
  return (event) => actorText(event, t.actors, (party) => nameOf(party, event, t));
}

/** Who recorded an event: the service itself, or an API key. */
export function RecordedBy({ by }: { by: AuditEvent['recordedBy'] }) {
  const t = useTexts();
  const own = by.kind === 'service';
  const Icon = own ? BadgeCheck : KeyRound;
  return (
    <span
      className="inline-flex max-w-full items-center gap-1.5"
      title={own ? t.access.byServiceHint : `${t.access.byKeyHint} ${by.id}`}
    >
      <Icon aria-hidden className={`size-4 shrink-0 ${own ? 'text-add' : 'text-faint'}`} />
      <span className="shrink-0">{own ? t.access.byService : t.actors.roles.api_key}</span>
      {!own && <span className="truncate font-mono text-2xs text-faint">{by.id.slice(0, 8)}</span>}
    </span>
  );
}

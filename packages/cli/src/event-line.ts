import type { AuditEvent } from '@indelible/client';
import { actorText, englishActors, outcomeSaid, type Party, partyName } from '@indelible/protocol';
import { shortened, visible } from './text.ts';

const wordsMax = 60;
const valueMax = 32;

/** An event as one line: time, sequence, actor, action, resource and outcome, first change. */
export function eventLine(event: AuditEvent): string {
  const { timestamp, sequence, action, resource } = event;
  const name = resource.name === null ? resource.id : `"${words(resource.name)}"`;
  const parts = [
    timestamp,
    `#${sequence}`,
    actorText(event, englishActors, who),
    `${visible(action)} ${visible(resource.type)} ${name}`,
  ];
  const outcome = outcomeSaid(event.outcome, action);
  if (outcome !== null) parts.push(`[${outcome}]`);
  const change = firstChange(event);
  if (change !== '') parts.push(change);
  if (event.crossTenant) parts.push(reason(event));
  return parts.join('  ');
}

function who(party: Party): string {
  const name = words(partyName(party) ?? party.id ?? 'unknown');
  return party.role === undefined ? name : `${name} (${visible(party.role)})`;
}

function firstChange({ diff }: AuditEvent): string {
  const [first, ...others] = Object.entries(diff);
  if (first === undefined) return '';
  const [field, { from, to }] = first;
  const more = others.length === 0 ? '' : ` (+${others.length} more)`;
  return `${words(field)}: ${value(from)} → ${value(to)}${more}`;
}

function reason(event: AuditEvent): string {
  return event.reason === null ? '[no reason declared]' : `[reason: ${words(event.reason)}]`;
}

function value(scalar: string | number | boolean | null): string {
  return visible(shortened(JSON.stringify(scalar), valueMax));
}

function words(text: string): string {
  return visible(shortened(text, wordsMax));
}

import type { AuditEvent, EventCriteria } from '@indelible/client';
import { partyName, revealed } from '@indelible/protocol';
import { useQuery } from '@tanstack/react-query';
import { ChevronDown, ChevronRight, TriangleAlert } from 'lucide-react';
import { useState } from 'react';
import { client } from '../../api.ts';
import { AppLink } from '../../components/AppLink.tsx';
import { ErasedBadge, isErased } from '../../components/Erased.tsx';
import { HeadRow } from '../../components/HeadRow.tsx';
import { OnBehalfOf, PartyName, RecordedBy, useActorText } from '../../components/Parties.tsx';
import { LoadError } from '../../components/States.tsx';
import { useReader, useTexts, wordOf } from '../../i18n/texts.tsx';
import { paths } from '../../paths.ts';
import type { EventSearch } from '../../search/event-search.ts';
import { lineOf, useCriteriaTexts } from '../../search/use-criteria-texts.ts';
import { useSession } from '../../session/session-context.tsx';
import { isLook, isUnexplained, type Visit } from './visits.ts';

/** One row a visit; opened, it says what was looked at. */
export function VisitTable({ visits, search }: { visits: readonly Visit[]; search: EventSearch }) {
  const t = useTexts();
  const columns = [
    { label: t.events.time, className: 'w-60' },
    { label: t.access.operator, className: 'w-[20%]' },
    { label: t.operator.reason, className: '' },
    { label: t.access.what, className: 'w-[16%]' },
    { label: t.access.attested, className: 'w-44' },
  ];
  return (
    <table className="records dated table-fixed" aria-label={t.nav.operatorAccess}>
      <HeadRow columns={columns} />
      {visits.map((visit) => (
        <VisitRows key={visit.key} visit={visit} search={search} />
      ))}
    </table>
  );
}

function VisitRows({ visit, search }: { visit: Visit; search: EventSearch }) {
  const { t, formats } = useReader();
  const [isOpen, setOpen] = useState(false);
  const [event] = visit.events;
  const { actor } = event;
  const actorText = useActorText();
  const isNamed = partyName(actor) !== null || isErased(event, 'identity');
  const when = formats.range(visit.fromMs, visit.toMs);
  const Chevron = isOpen ? ChevronDown : ChevronRight;
  const actions = [...new Set(visit.events.map(({ action }) => wordOf(t.actions, action)))];
  return (
    <tbody>
      <tr className={`row ${isUnexplained(event) ? 'bg-del-soft/50' : ''}`}>
        <td className="corner tabular-nums @xl/records:row-span-2">
          <button
            type="button"
            className="row-link flex cursor-pointer gap-1 text-left text-muted"
            aria-expanded={isOpen}
            aria-label={`${t.access.seen}: ${actorText(event)}, ${when}`}
            onClick={() => setOpen(!isOpen)}
          >
            <Chevron aria-hidden className="no-print mt-1 size-4 shrink-0" />
            {when}
          </button>
        </td>
        <td className="wide">
          <PartyName event={event} party={actor} facet="user" />
          {!isNamed && (
            <p className="text-xs text-del">
              {t.events.noEmail} · {actor.id.slice(0, 8)}
            </p>
          )}
          <OnBehalfOf event={event} />
        </td>
        <td className="wide">
          <Reason visit={visit} />
        </td>
        <td>
          {t.access.records({ count: visit.events.length })}
          <p className="truncate text-xs text-faint">{actions.join(' · ')}</p>
        </td>
        <td className="wide">
          <RecordedBy by={event.recordedBy} />
        </td>
      </tr>
      {isOpen && (
        <tr>
          <td colSpan={5} className="bg-sunken">
            <VisitLooks visit={visit} search={search} />
          </td>
        </tr>
      )}
    </tbody>
  );
}

function Reason({ visit: { events } }: { visit: Visit }) {
  const t = useTexts();
  const [event] = events;
  return (
    <>
      {isUnexplained(event) ? (
        <span className="inline-flex items-center gap-1.5 font-semibold text-del">
          <TriangleAlert aria-hidden className="size-4" />
          {t.access.noReason}
        </span>
      ) : (
        <span dir="auto" className="wrap-anywhere">
          {event.reason && revealed(event.reason)}
        </span>
      )}
      <ErasedBadge event={event} />
    </>
  );
}

/** Each record of a visit, in words; a list of events has no states, so they are loaded here. */
function VisitLooks({ visit, search }: { visit: Visit; search: EventSearch }) {
  const { t, formats } = useReader();
  const states = useStates(visit);
  return (
    <>
      {states.isError && <LoadError error={states.error} retry={states.refetch} />}
      <ul aria-label={t.access.seen} className="space-y-1 py-1 pl-5 max-lg:px-4">
        {visit.events.map((event) => (
          <li key={event.id} className="flex gap-x-4">
            <AppLink href={paths.event(event.id, search)} className="link tabular-nums">
              {formats.time(event.timestamp)}
            </AppLink>
            <span dir="auto" className="min-w-0 wrap-anywhere">
              <What event={states.data?.get(event.id) ?? event} />
            </span>
          </li>
        ))}
      </ul>
    </>
  );
}

function What({ event }: { event: AuditEvent }) {
  const t = useTexts();
  const look = useLookText()(event);
  if (look !== null) return look;
  const { action, resource } = event;
  const name = resource.name === null ? '' : ` · ${revealed(resource.name)}`;
  return `${wordOf(t.actions, action)} · ${wordOf(t.resources, resource.type)}${name}`;
}

/** The records of what was looked at in this visit, with their states, by id. */
function useStates({ key, fromMs, toMs, events }: Visit) {
  const { tenant } = useSession();
  const [{ actor }] = events;
  const query = {
    from: new Date(fromMs).toISOString(),
    to: new Date(toMs + 1).toISOString(),
    user: actor.id,
    action: 'access',
    resource: 'audit_log',
    resourceId: tenant.id,
    includeState: true,
    limit: 500,
  };
  return useQuery({
    queryKey: ['looks', key, query],
    enabled: events.some(isLook),
    queryFn: async () => {
      const { data } = await client.page(query);
      return new Map(data.map((event) => [event.id, event]));
    },
  });
}

/** What an operator looked at, in words; null for other events, and for one without its state. */
function useLookText(): (event: AuditEvent) => string | null {
  const t = useTexts();
  const { stored } = useCriteriaTexts();
  const known = (thing: unknown): thing is keyof typeof t.access.looked =>
    typeof thing === 'string' && Object.hasOwn(t.access.looked, thing);
  return (event) => {
    const { lookedAt, filters, id, outcome, withStates } = event.after ?? {};
    if (!isLook(event) || !known(lookedAt)) return null;
    const parts = [
      t.access.looked[lookedAt],
      ...(typeof id === 'string' ? [revealed(id)] : []),
      ...(filters ? [revealed(lineOf(stored(filters as EventCriteria)))] : []),
      ...(withStates === true ? [t.access.withStates] : []),
      ...(outcome === 'refused' ? [t.access.refused] : []),
    ];
    return parts.join(' · ');
  };
}

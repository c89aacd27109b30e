import { partyName, revealed } from '@indelible/protocol';
import { ChevronDown, ChevronRight, TriangleAlert } from 'lucide-react';
import { useState } from 'react';
import { useActorText } from '../../components/actor-name.ts';
import { ErasedBadge, isErased } from '../../components/Erased.tsx';
import { HeadRow } from '../../components/HeadRow.tsx';
import { OnBehalfOf, PartyName } from '../../components/Parties.tsx';
import { RecordedBy } from '../../components/RecordedBy.tsx';
import { useTexts, wordOf } from '../../i18n/texts.tsx';
import { useFormats } from '../../i18n/use-formats.ts';
import type { EventSearch } from '../../search/event-search.ts';
import { VisitLooks } from './VisitLooks.tsx';
import { isUnexplained, type Visit } from './visits.ts';

/** One row a visit; opened, it says what was looked at. */
export function VisitTable({ visits, search }: { visits: readonly Visit[]; search: EventSearch }) {
  const t = useTexts();
  const columns = [
    { label: t.events.time, className: 'w-52' },
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
  const t = useTexts();
  const formats = useFormats();
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
        <td className="corner tabular-nums">
          <button
            type="button"
            className="row-link flex cursor-pointer gap-1 text-left text-muted"
            aria-expanded={isOpen}
            aria-label={`${t.access.seen}: ${actorText(event)}, ${when}`}
            onClick={() => setOpen(!isOpen)}
          >
            <Chevron aria-hidden className="no-print mt-0.5 size-4 shrink-0" />
            {when}
          </button>
        </td>
        <td>
          <PartyName event={event} party={actor} facet="user" />
          {!isNamed && <p className="text-xs text-del">{t.events.noEmail}</p>}
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

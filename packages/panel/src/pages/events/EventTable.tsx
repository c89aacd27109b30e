import type { AuditEvent } from '@indelible/client';
import { useState } from 'react';
import { HeadRow } from '../../components/HeadRow.tsx';
import type { Formats } from '../../i18n/formats.ts';
import { useTexts } from '../../i18n/texts.tsx';
import { useFormats } from '../../i18n/use-formats.ts';
import { EventRow } from './EventRow.tsx';

interface EventTableProps {
  events: readonly AuditEvent[];
  /** The event that is open beside the list. */
  openId: string | undefined;
  /** Days as headings between the rows; only in order of time. */
  byDay: boolean;
  hrefOf: (id: string) => string;
}

/** One page of events as a table; on a narrow screen, each row is a card. */
export function EventTable({ events, openId, byDay, hrefOf }: EventTableProps) {
  const t = useTexts();
  const formats = useFormats();
  const [activeId, setActiveId] = useState<string | null>(null);
  const columns = [
    { label: t.events.time, className: byDay ? 'w-24' : 'w-44' },
    { label: t.events.who, className: 'w-[24%]' },
    { label: t.filters.action, className: 'w-36' },
    { label: t.filters.resource, className: 'w-[22%]' },
    { label: t.events.changes, className: '' },
    { label: t.events.origin, className: 'col-origin w-36' },
  ];
  return (
    <table className={`records table-fixed ${byDay ? '' : 'dated'}`} aria-label={t.events.list}>
      <HeadRow columns={columns} />
      {groupsOf(events, byDay, formats).map(({ key, day, rows }) => (
        <tbody key={key}>
          {day !== null && (
            <tr>
              <th
                scope="rowgroup"
                colSpan={columns.length - 1}
                className="block px-3 pt-4 pb-1.5 text-xs font-semibold text-muted sm:table-cell"
              >
                {day}
              </th>
            </tr>
          )}
          {rows.map((event) => (
            <EventRow
              key={event.id}
              event={event}
              href={hrefOf(event.id)}
              isOpen={event.id === openId}
              isActive={event.id === activeId}
              activate={() => setActiveId(event.id)}
              withDate={!byDay}
            />
          ))}
        </tbody>
      ))}
    </table>
  );
}

/** Runs of events of one day, in the order they come. */
function groupsOf(events: readonly AuditEvent[], byDay: boolean, formats: Formats) {
  if (!byDay) return [{ key: 'all', day: null, rows: [...events] }];
  const groups = Map.groupBy(events, ({ timestamp }) => formats.dayKey(timestamp));
  return [...groups].map(([key, rows]) => {
    return { key, day: formats.day(rows[0]?.timestamp ?? 0), rows };
  });
}

import type { AuditEvent } from '@indelible/client';
import { useState } from 'react';
import { HeadRow } from '../../components/HeadRow.tsx';
import type { Formats } from '../../i18n/formats.ts';
import { useFormats, useTexts } from '../../i18n/texts.tsx';
import type { ListColumn, ListView } from '../../search/list-view.ts';
import { useColumnNames } from '../../search/use-list-view.ts';
import { EventRow } from './EventRow.tsx';

interface EventTableProps {
  events: readonly AuditEvent[];
  /** The event that is open beside the list. */
  openId: string | undefined;
  /** Days as headings between the rows; only in order of time. */
  byDay: boolean;
  hrefOf: (id: string) => string;
  view: ListView;
}

const widths: Readonly<Record<ListColumn, string>> = {
  user: 'w-[24%]',
  action: 'w-36',
  resource: 'w-[22%]',
  changes: '',
  ip: 'col-origin w-36',
};

/** One page of events as a table; on a narrow screen, each row is a card. */
export function EventTable({ events, openId, byDay, hrefOf, view }: EventTableProps) {
  const t = useTexts();
  const nameOf = useColumnNames();
  const formats = useFormats();
  const [activeId, setActiveId] = useState<string | null>(null);
  const columns = [
    { label: t.events.time, className: byDay ? 'w-24' : 'w-44' },
    ...view.columns.map((name) => ({ label: nameOf(name), className: widths[name] })),
  ];
  return (
    <table
      className={`records table-fixed ${byDay ? '' : 'dated'} ${view.density}`}
      aria-label={t.events.list}
    >
      <HeadRow columns={columns} />
      {groupsOf(events, byDay, formats).map(({ key, day, rows }, index) => (
        <tbody key={key}>
          {day !== null && (
            <tr>
              <th
                scope="rowgroup"
                colSpan={columns.length - Number(view.columns.includes('ip'))}
                className="block px-3 pt-4 pb-1.5 text-xs font-semibold text-muted sm:table-cell"
              >
                {day}{' '}
                {index === 0 && (
                  <span className="ml-1 font-normal text-faint">{formats.timeZone}</span>
                )}
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
              columns={view.columns}
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

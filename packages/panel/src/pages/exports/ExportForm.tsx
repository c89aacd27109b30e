import type { ExportInput } from '@indelible/client';
import { filterToJson } from '@indelible/protocol';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { client } from '../../api.ts';
import { AppLink } from '../../components/AppLink.tsx';
import { DownloadButton } from '../../components/FileButton.tsx';
import { Checkbox } from '../../components/fields.tsx';
import { SmallError } from '../../components/States.tsx';
import { useTexts } from '../../i18n/texts.tsx';
import { paths } from '../../paths.ts';
import { CriteriaList } from '../../search/CriteriaList.tsx';
import { filterAt } from '../../search/event-search.ts';
import { FilterBar } from '../../search/FilterBar.tsx';
import { csvColumnsOf, listColumns } from '../../search/list-view.ts';
import { useMoment } from '../../search/use-events.ts';
import { useColumnNames } from '../../search/use-list-view.ts';
import { useEventSearch } from '../../use-location.ts';

/** The criteria, row count and format of a new export. */
export function ExportForm({ started }: { started: () => void }) {
  const t = useTexts();
  const [search, change] = useEventSearch();
  const { nowMs } = useMoment(search);
  const nameOf = useColumnNames();
  const [format, setFormat] = useState<ExportInput['format']>('csv');
  const [isAsListed, setAsListed] = useState(true);
  const listed = search.view?.columns ?? listColumns;
  const isNarrowed = format === 'csv' && listed.length < listColumns.length;
  const filters = filterToJson(filterAt(search, nowMs));
  const columns = isNarrowed && isAsListed ? { columns: csvColumnsOf(listed) } : {};
  const input: ExportInput = { filters, format, ...columns };
  const count = useQuery({
    queryKey: ['export-count', filters],
    queryFn: async () =>
      (await client.page({ ...filters, limit: 1, includeTotal: true })).pagination.total,
  });
  return (
    <section className="card max-w-3xl p-5">
      <h2 className="font-semibold">{t.exports.new}</h2>
      <div className="mt-3">
        <FilterBar search={search} nowMs={nowMs} change={change} />
      </div>
      <CriteriaList {...search} />
      <AppLink href={paths.events(search)} className="link mt-2 inline-block text-xs">
        {t.evidence.seeEvents}
      </AppLink>
      <Formats format={format} setFormat={setFormat} />
      {isNarrowed && (
        <Checkbox
          className="mt-3 min-h-6 text-[0.8125rem]"
          checked={isAsListed}
          change={setAsListed}
        >
          {t.exports.asListed({ columns: listed.map(nameOf).join(', ') })}
        </Checkbox>
      )}
      <div className="mt-5 flex flex-wrap items-center gap-x-4 gap-y-2 border-t border-line pt-4">
        {count.isError ? (
          <SmallError error={count.error} retry={count.refetch} />
        ) : (
          <RowCount total={count.data} />
        )}
        <div className="ml-auto flex flex-wrap gap-2">
          <DownloadButton
            input={input}
            name="audit-log"
            disabled={!count.data}
            look="primary"
            done={started}
          >
            {count.data?.relation === 'gte' ? t.exports.start : t.exports.download}
          </DownloadButton>
        </div>
      </div>
    </section>
  );
}

function RowCount({ total }: { total: { value: number; relation: string } | undefined }) {
  const t = useTexts();
  if (total === undefined) return <p className="text-muted">{t.exports.counting}</p>;
  const many = total.relation === 'gte';
  return (
    <div role="status">
      <p className="text-lg font-semibold tabular-nums">
        {many ? t.exports.rowsOver({ count: total.value }) : t.exports.rows({ count: total.value })}
      </p>
      <p className="text-xs text-muted">{many ? t.exports.large : t.exports.small}</p>
    </div>
  );
}

function Formats(props: {
  format: ExportInput['format'];
  setFormat: (format: ExportInput['format']) => void;
}) {
  const t = useTexts();
  return (
    <fieldset className="mt-4">
      <legend className="label mb-1.5">{t.exports.format}</legend>
      <div className="flex flex-wrap gap-2">
        {(['csv', 'ndjson'] as const).map((each) => (
          <label
            key={each}
            className="flex cursor-pointer items-center gap-2 rounded-lg border border-edge px-3 py-2 text-[0.8125rem] has-checked:border-accent has-checked:bg-accent-soft has-checked:text-accent"
          >
            <input
              type="radio"
              name="format"
              className="size-4 accent-accent"
              checked={props.format === each}
              onChange={() => props.setFormat(each)}
            />
            {t.exports[each]}
          </label>
        ))}
      </div>
    </fieldset>
  );
}

import { useTexts } from '../i18n/texts.tsx';
import { type EventSearch, frozen } from './event-search.ts';
import { useCriteriaTexts } from './use-criteria-texts.ts';

/** On a printed page: the criteria of the search, with its range as absolute times. */
export function PrintCriteria({ search, nowMs }: { search: EventSearch; nowMs: number }) {
  const t = useTexts();
  const { all } = useCriteriaTexts();
  return (
    <dl className="print-only mb-3">
      {all(search.facets, frozen(search, nowMs).range).map(({ name, text }) => (
        <div key={name} className="flex gap-2">
          <dt className="font-semibold">{name}:</dt>
          <dd>{text}</dd>
        </div>
      ))}
      <div className="flex gap-2">
        <dt className="font-semibold">{t.print.page}:</dt>
        <dd>{search.page}</dd>
      </div>
    </dl>
  );
}

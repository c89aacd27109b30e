import { useTexts } from '../i18n/texts.tsx';
import { type EventSearch, frozen } from './event-search.ts';
import { useCriteriaTexts } from './use-criteria-texts.ts';

/** Criteria as names and texts. */
export function CriteriaList({
  criteria,
}: {
  criteria: readonly { name: string; text: string }[];
}) {
  return (
    <dl className="mt-3 space-y-1 rounded-lg bg-sunken px-3 py-2.5">
      {criteria.map(({ name, text }) => (
        <div key={name} className="flex gap-2">
          <dt className="w-32 shrink-0 text-muted">{name}</dt>
          <dd className="min-w-0 wrap-anywhere">{text}</dd>
        </div>
      ))}
    </dl>
  );
}

/** On a printed page: the criteria of the search, with its range as absolute times. */
export function PrintCriteria({ search, nowMs }: { search: EventSearch; nowMs: number }) {
  const t = useTexts();
  const { all } = useCriteriaTexts();
  return (
    <dl className="print-only mb-3 px-4">
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

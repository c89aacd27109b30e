import { useTexts } from '../i18n/texts.tsx';
import { type EventSearch, frozen } from './event-search.ts';
import { useCriteriaTexts } from './use-criteria-texts.ts';
import { useNamesOf } from './use-named.ts';

type Criteria = Pick<EventSearch, 'facets' | 'range'>;

/** Criteria in the reader's words, with the names of persons and resources. */
export function useNamedCriteria({ facets, range }: Criteria) {
  const { all } = useCriteriaTexts();
  const [user, resourceId] = [useNamesOf('user', facets), useNamesOf('resourceId', facets)];
  return all(facets, range, { user, resourceId });
}

/** Criteria as names and texts. */
export function CriteriaList(criteria: Criteria) {
  return (
    <dl className="mt-3 space-y-1 rounded-lg bg-sunken px-3 py-2.5">
      {useNamedCriteria(criteria).map(({ name, text }) => (
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
  return (
    <dl className="print-only mb-3 px-4">
      {useNamedCriteria(frozen(search, nowMs)).map(({ name, text }) => (
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

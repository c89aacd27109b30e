import { facetOf } from '@indelible/protocol';
import { Search, X } from 'lucide-react';
import { Button, Input, SearchField } from 'react-aria-components';
import { useTexts } from '../i18n/texts.tsx';
import { changed, type EventSearch, onlyValue, withoutFacet } from './event-search.ts';

/** The one text that events are searched for; null if the search excludes or combines several. */
export function wordsIn({ facets: { q } }: EventSearch): string | null {
  if (q === undefined) return '';
  return q.any.length === 1 && q.none.length === 0 ? (q.any[0] ?? '') : null;
}

/** Words to search for; Enter searches. */
export function WordsField({
  search,
  words,
  change,
}: {
  search: EventSearch;
  words: string;
  change: (next: EventSearch) => void;
}) {
  const t = useTexts();
  const apply = (text: string) => {
    const value = facetOf('q').normalise(text);
    const rest = withoutFacet(search.facets, 'q');
    if (value !== null) change(changed(search, { facets: onlyValue(rest, 'q', value) }));
    else if (text.trim() === '') change(changed(search, { facets: rest }));
  };
  return (
    <SearchField
      key={words} // the field follows the address
      defaultValue={words}
      onSubmit={apply}
      onClear={() => apply('')}
      aria-label={t.filters.q}
      className="group relative min-w-52 grow basis-52 sm:max-w-80"
    >
      <Search aria-hidden className="absolute top-2 left-2.5 size-3.5 text-faint" />
      <Input
        className="field h-8 px-8 text-[0.8125rem] [&::-webkit-search-cancel-button]:hidden"
        placeholder={t.filters.typed.q}
      />
      <Button
        aria-label={t.filters.remove({ what: t.filters.q })}
        className="absolute top-1.5 right-1.5 cursor-pointer p-0.5 text-faint group-data-[empty]:hidden"
      >
        <X aria-hidden className="size-3.5" />
      </Button>
    </SearchField>
  );
}

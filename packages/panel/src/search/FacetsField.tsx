import type { FacetName } from '@indelible/protocol';
import { useState } from 'react';
import { useTexts } from '../i18n/texts.tsx';
import { serviceNow } from '../service-clock.ts';
import { emptySearch, type Facets } from './event-search.ts';
import { FilterBar } from './FilterBar.tsx';

/** Choices are counted over all retained events. */
const always = { ...emptySearch, range: { kind: 'last', preset: 'all' } } as const;

interface FacetsFieldProps {
  /** Otherwise: events. */
  label?: string;
  facets: Facets;
  change: (facets: Facets) => void;
  offered?: readonly FacetName[];
}

/** Filters of a form, without a time range. */
export function FacetsField({ label, facets, change, offered }: FacetsFieldProps) {
  const t = useTexts();
  const [nowMs] = useState(serviceNow);
  return (
    <>
      <p className="label mb-1.5">{label ?? t.nav.events}</p>
      <FilterBar
        search={{ ...always, facets }}
        nowMs={nowMs}
        change={(search) => change(search.facets)}
        {...(offered && { facets: offered })}
        withRange={false}
      />
    </>
  );
}

import type { EventCriteria } from '@indelible/client';
import { filterToJson } from '@indelible/protocol';
import { useState } from 'react';
import { useTexts } from '../i18n/texts.tsx';
import { serviceNow } from '../service-clock.ts';
import { searchOfCriteria } from './criteria.ts';
import { FilterBar } from './FilterBar.tsx';

interface FacetsFieldProps {
  /** Otherwise: events. */
  label?: string;
  filters: EventCriteria;
  change: (filters: EventCriteria) => void;
}

/** Filters of a form, without a time range: choices are counted over all retained events. */
export function FacetsField({ label, filters, change }: FacetsFieldProps) {
  const t = useTexts();
  const [nowMs] = useState(serviceNow);
  return (
    <>
      <p className="label mb-1.5">{label ?? t.nav.events}</p>
      <FilterBar
        search={{ ...searchOfCriteria(filters), range: { kind: 'last', preset: 'all' } }}
        nowMs={nowMs}
        change={({ facets }) => change(filterToJson(facets))}
        withRange={false}
      />
    </>
  );
}

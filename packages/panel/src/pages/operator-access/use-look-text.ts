import type { AuditEvent, EventCriteria } from '@indelible/client';
import { revealed } from '@indelible/protocol';
import { useTexts } from '../../i18n/texts.tsx';
import { searchOfCriteria } from '../../search/criteria.ts';
import { useCriteriaTexts } from '../../search/use-criteria-texts.ts';
import { isLook } from './visits.ts';

/** What an operator looked at, in words; null for other events, and for one without its state. */
export function useLookText(): (event: AuditEvent) => string | null {
  const t = useTexts();
  const { all } = useCriteriaTexts();
  const known = (thing: unknown): thing is keyof typeof t.access.looked =>
    typeof thing === 'string' && Object.hasOwn(t.access.looked, thing);
  const criteriaOf = (filters: EventCriteria) => {
    const { facets, range } = searchOfCriteria(filters);
    return all(facets, range).map(({ name, text }) => `${name}: ${revealed(text)}`);
  };
  return (event) => {
    const { lookedAt, filters, id, outcome, withStates } = event.after ?? {};
    if (!isLook(event) || !known(lookedAt)) return null;
    const parts = [
      t.access.looked[lookedAt],
      ...(typeof id === 'string' ? [revealed(id)] : []),
      ...(filters ? criteriaOf(filters as EventCriteria) : []),
      ...(withStates === true ? [t.access.withStates] : []),
      ...(outcome === 'refused' ? [t.access.refused] : []),
    ];
    return parts.join(' · ');
  };
}

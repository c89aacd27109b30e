import type { View } from '@indelible/client';
import { useQuery } from '@tanstack/react-query';
import { client } from '../../api.ts';
import { useChange } from '../../components/use-change.ts';
import { searchOfCriteria } from '../../search/criteria.ts';
import type { EventSearch } from '../../search/event-search.ts';
import { parseColumns } from '../../search/list-view.ts';
import { isPreset, presetDefault } from '../../search/time-range.ts';
import { useMay, useSession } from '../../session/session-context.tsx';

/** The tenant's views and the reader's own, by name. */
export function useViews({ isAsked }: { isAsked: boolean }) {
  return useQuery({
    queryKey: ['views'],
    queryFn: async () => {
      const views = await Array.fromAsync(client.views.list());
      return views.sort((one, other) => one.name.localeCompare(other.name));
    },
    enabled: isAsked,
  });
}

/** A change of views. */
export const useViewChange = (change: () => Promise<unknown>) => useChange(['views'], change);

/** Views for the sidebar of every page; not for operators, whose every look is recorded. */
export function useSidebarViews(): readonly View[] {
  const { crossTenant } = useSession();
  const mayRead = useMay('events:read');
  return useViews({ isAsked: mayRead && !crossTenant }).data ?? [];
}

/** The search that a view opens today. */
export function searchOfView({ filters, last, columns }: View): EventSearch {
  const known = columns && parseColumns(columns.join(','));
  const search = { ...searchOfCriteria(filters), ...(known && { view: { columns: known } }) };
  if (filters.from !== undefined || filters.to !== undefined) return search;
  const preset = last !== null && isPreset(last) ? last : presetDefault;
  return { ...search, range: { kind: 'last', preset } };
}

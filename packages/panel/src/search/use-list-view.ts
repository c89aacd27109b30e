import { useMemo } from 'react';
import { prefer, usePreferences } from '../preferences.ts';
import { useEventSearch } from '../use-location.ts';
import { defaultView, type ListView } from './list-view.ts';

/** The view that the address names, else the reader's own; a choice changes both. */
export function useListView(): [ListView, (choice: Partial<ListView>) => void] {
  const [search, change] = useEventSearch();
  const { columns, density } = { ...usePreferences().view, ...search.view };
  const view = useMemo(
    () => ({
      columns: columns ?? defaultView.columns,
      density: density ?? defaultView.density,
    }),
    [columns, density],
  );
  const choose = (choice: Partial<ListView>) => {
    prefer({ view: { ...view, ...choice } });
    change({ ...search, view: { ...view, ...choice } });
  };
  return [view, choose];
}

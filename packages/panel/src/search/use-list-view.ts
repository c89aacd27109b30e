import { useMemo } from 'react';
import { useTexts } from '../i18n/texts.tsx';
import { prefer, usePreferences } from '../preferences.ts';
import { useEventSearch } from '../use-location.ts';
import type { ListColumn } from './list-view.ts';
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

export function useColumnNames(): (column: ListColumn) => string {
  const t = useTexts();
  const names: Readonly<Record<ListColumn, string>> = {
    user: t.events.who,
    action: t.filters.action,
    resource: t.filters.resource,
    changes: t.events.changes,
    ip: t.events.origin,
  };
  return (column) => names[column];
}

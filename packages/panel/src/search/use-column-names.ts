import { useTexts } from '../i18n/texts.tsx';
import type { ListColumn } from './list-view.ts';

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

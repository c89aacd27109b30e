import type { FacetName } from '@indelible/protocol';
import { Copy, Filter, FilterX, History } from 'lucide-react';
import type { RefObject } from 'react';
import { Menu, MenuItem, Popover } from 'react-aria-components';
import { useTexts } from '../i18n/texts.tsx';
import { paths } from '../paths.ts';
import { changed, type EventSearch, excluding, onlyValue } from '../search/event-search.ts';
import { useEventSearch, useGo, usePath } from '../use-location.ts';

/** A value that can be filtered by: its menu offers "only this" and "not this". */
export interface FacetValue {
  facet: FacetName;
  value: string;
  /** Its display text. */
  label: string;
  /** The resource whose versions the menu links to. */
  resourceId?: string;
}

interface ValueMenuProps {
  anchor: RefObject<HTMLElement | null>;
  value: FacetValue;
  close: () => void;
}

/** Pages with their own filters stay; elsewhere a filter opens the list of events. */
function pageOf(path: string, target: EventSearch): string {
  const own = [paths.operatorAccess, paths.sensitiveAccess].find((page) => page() === path);
  return (own ?? paths.events)(target);
}

/** The actions on a value: only this, not this, copy. */
export default function ValueMenu({ anchor, value: chosen, close }: ValueMenuProps) {
  const t = useTexts();
  const [search] = useEventSearch();
  const go = useGo();
  const path = usePath();
  const { facet, value, label, resourceId } = chosen;
  const act = (key: React.Key) => {
    const { facets } = search;
    if (key === 'copy') void navigator.clipboard?.writeText(value);
    if (key === 'versions' && resourceId !== undefined) go(paths.versions(resourceId));
    if (key !== 'only' && key !== 'not') return;
    const next = key === 'only' ? onlyValue(facets, facet, value) : excluding(facets, facet, value);
    const target = changed(search, { facets: next });
    go(pageOf(path, target));
  };
  return (
    <Popover
      triggerRef={anchor}
      isOpen
      onOpenChange={(isOpen) => !isOpen && close()}
      placement="bottom start"
      className="pop min-w-48"
      aria-label={label}
    >
      <p className="truncate px-2 pt-1 pb-1.5 text-xs text-faint">{label}</p>
      <Menu
        aria-label={label}
        onAction={act}
        onClose={close}
        autoFocus="first"
        className="outline-none"
      >
        <MenuItem id="only" className="option">
          <Filter aria-hidden />
          {t.filters.onlyThis}
        </MenuItem>
        <MenuItem id="not" className="option">
          <FilterX aria-hidden />
          {t.filters.notThis}
        </MenuItem>
        <MenuItem id="copy" className="option">
          <Copy aria-hidden />
          {t.filters.copyValue}
        </MenuItem>
        {resourceId !== undefined && (
          <MenuItem id="versions" className="option">
            <History aria-hidden />
            {t.filters.seeVersions}
          </MenuItem>
        )}
      </Menu>
    </Popover>
  );
}

import type { FacetName } from '@indelible/protocol';
import { Copy, Filter, FilterX, History } from 'lucide-react';
import type { RefObject } from 'react';
import { Menu, MenuItem, Popover } from 'react-aria-components';
import { useTexts } from '../i18n/texts.tsx';
import { paths } from '../paths.ts';
import {
  changed,
  type EventSearch,
  excluding,
  type Facets,
  onlyValue,
} from '../search/event-search.ts';
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
  const filterBy = (facets: Facets) => go(pageOf(path, changed(search, { facets })));
  const { facets } = search;
  const items = [
    [t.filters.onlyThis, Filter, () => filterBy(onlyValue(facets, facet, value))],
    [t.filters.notThis, FilterX, () => filterBy(excluding(facets, facet, value))],
    [t.filters.copyValue, Copy, () => void navigator.clipboard?.writeText(value)],
    ...(resourceId === undefined
      ? []
      : ([[t.filters.seeVersions, History, () => go(paths.versions(resourceId))]] as const)),
  ] as const;
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
      <Menu aria-label={label} onClose={close} autoFocus="first" className="outline-none">
        {items.map(([text, Icon, act]) => (
          <MenuItem key={text} onAction={act} className="option">
            <Icon aria-hidden />
            {text}
          </MenuItem>
        ))}
      </Menu>
    </Popover>
  );
}

import { useMemo } from 'react';
import { useShortcuts } from '../shell/use-shortcuts.ts';
import { useGo } from '../use-location.ts';

/**
 * `j` and `k` move through the rows of a list; if one is open beside it, they open the next one,
 * and Escape closes it. `closeHref`: the address without it; null if none is open.
 */
export function useListKeys(closeHref: string | null): void {
  const go = useGo();
  const shortcuts = useMemo(() => {
    const step = (by: 1 | -1) => {
      const rows = [...document.querySelectorAll<HTMLElement>('.row-link')];
      const focused = rows.findIndex((row) => row.closest('tr')?.contains(document.activeElement));
      const open = rows.findIndex((row) => row.closest('tr')?.ariaCurrent === 'true');
      const at = focused === -1 ? open : focused;
      const next = rows[Math.min(rows.length - 1, Math.max(0, at + by))];
      next?.focus();
      if (closeHref !== null && next) go(next.getAttribute('href') ?? '', { replace: true });
    };
    const keys = { j: () => step(1), k: () => step(-1) };
    if (closeHref === null) return keys;
    const close = () => {
      focusOpenRow();
      go(closeHref);
    };
    return { ...keys, Escape: close };
  }, [go, closeHref]);
  useShortcuts(shortcuts);
}

/** Before what is open beside the list closes, so that the focus does not go with it. */
export function focusOpenRow(): void {
  document.querySelector<HTMLAnchorElement>('tr[aria-current] a.row-link')?.focus();
}

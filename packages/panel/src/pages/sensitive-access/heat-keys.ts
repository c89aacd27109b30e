import { type FocusEvent, type KeyboardEvent, useState } from 'react';

/**
 * One Tab stop for a whole table of links: arrow keys move from one to the next, and between rows
 * to the nearest column.
 */
export function useHeatKeys() {
  const [stop, setStop] = useState({ row: 0, column: 0 });
  return {
    isStop: (row: number, column: number) => stop.row === row && stop.column === column,
    table: {
      onFocus: ({ target }: FocusEvent<HTMLTableElement>) => {
        const row = target.closest('tr')?.sectionRowIndex ?? 0;
        setStop({ row, column: columnOf(target) });
      },
      onKeyDown: (event: KeyboardEvent<HTMLTableElement>) => {
        const next = neighbour(event.target, event.key);
        if (next === null) return;
        event.preventDefault();
        next.focus();
      },
    },
  };
}

const stops = (row: Element | null | undefined) => [
  ...(row?.querySelectorAll<HTMLElement>('a, button') ?? []),
];

function neighbour(target: EventTarget, key: string): HTMLElement | null {
  const stop = target instanceof Element ? target.closest<HTMLElement>('a, button') : null;
  const row = stop?.closest('tr');
  if (!stop || !row) return null;
  const beside = stops(row);
  const at = beside.indexOf(stop);
  if (key === 'ArrowLeft') return beside[at - 1] ?? null;
  if (key === 'ArrowRight') return beside[at + 1] ?? null;
  if (key === 'Home') return beside[0] ?? null;
  if (key === 'End') return beside.at(-1) ?? null;
  if (key === 'ArrowUp') return nearest(stops(row.previousElementSibling), columnOf(stop));
  if (key === 'ArrowDown') return nearest(stops(row.nextElementSibling), columnOf(stop));
  return null;
}

const columnOf = (stop: Element) => stop.closest('td')?.cellIndex ?? 0;

function nearest(among: readonly HTMLElement[], column: number): HTMLElement | null {
  const away = (stop: HTMLElement) => Math.abs(columnOf(stop) - column);
  return among.toSorted((a, b) => away(a) - away(b))[0] ?? null;
}

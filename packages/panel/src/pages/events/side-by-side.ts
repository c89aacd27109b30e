import { diffLines } from 'diff';

/** One line of two texts side by side; null if that side has no such line. */
export interface LinePair {
  left: string | null;
  right: string | null;
  same: boolean;
  /** Its position, from 0. */
  row: number;
}

/** Two JSON values as indented lines, equal ones at the same height; a null state has no lines. */
export function sideBySide(left: unknown, right: unknown): LinePair[] {
  const pairs: LinePair[] = [];
  const add = (pair: Omit<LinePair, 'row'>) => pairs.push({ ...pair, row: pairs.length });
  let removed: string[] = [];
  const flush = (added: string[]) => {
    for (let at = 0; at < Math.max(removed.length, added.length); at += 1) {
      add({ left: removed[at] ?? null, right: added[at] ?? null, same: false });
    }
    removed = [];
  };
  for (const part of diffLines(jsonLines(left), jsonLines(right))) {
    const lines = part.value.split('\n').slice(0, -1);
    if (part.removed) removed.push(...lines);
    else if (part.added) flush(lines);
    else {
      flush([]);
      for (const line of lines) add({ left: line, right: line, same: true });
    }
  }
  flush([]);
  return pairs;
}

// Without trailing commas, so that a line does not differ only because another one follows.
function jsonLines(value: unknown): string {
  if (value === null || value === undefined) return '';
  const lines = JSON.stringify(value, null, 2).split('\n');
  return `${lines.map((line) => line.replace(/,$/, '')).join('\n')}\n`;
}

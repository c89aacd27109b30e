/** Suggestions for misspelt names. */

const comparedLengthMax = 64;

/** What other APIs call our filters; roles are among the words of `q`. */
const otherNames: Readonly<Record<string, string>> = {
  actor: 'user',
  email: 'user',
  person: 'user',
  since: 'from',
  until: 'to',
  after: 'from',
  before: 'to',
  role: 'q',
  search: 'q',
  query: 'q',
  text: 'q',
};

/**
 * The known name that `name` probably means, or null. Ignores case, underscores and hyphens
 * (`resourceId` means `resource_id`). Otherwise about a quarter of the letters may differ, or one
 * name starts with the other.
 */
export function nearestName(name: string, known: readonly string[]): string | null {
  const wanted = lettersOf(name);
  const meant = Object.hasOwn(otherNames, wanted) ? otherNames[wanted] : undefined;
  if (meant !== undefined && known.includes(meant)) return meant;
  let nearest: string | null = null;
  let nearestEdits = Number.POSITIVE_INFINITY;
  for (const candidate of known) {
    const letters = lettersOf(candidate);
    const edits = editsBetween(wanted, letters);
    if (edits < nearestEdits && isNear(wanted, letters, edits)) {
      nearest = candidate;
      nearestEdits = edits;
    }
  }
  return nearest;
}

/** The error text for a name that is not in `known`: the nearest name, and all known ones. */
export function unknownNameMessage(kind: string, name: string, known: readonly string[]): string {
  const shown = name.slice(0, comparedLengthMax).toWellFormed();
  const nearest = nearestName(name, known);
  const meant = nearest === null ? '' : ` did you mean '${nearest}'?`;
  const all =
    known.length === 0 ? `this call accepts no ${kind}s` : `known ${kind}s: ${known.join(', ')}`;
  return `unknown ${kind} '${shown}';${meant} ${all}`;
}

function lettersOf(name: string): string {
  return name
    .slice(0, comparedLengthMax)
    .toLowerCase()
    .replaceAll(/[^a-z0-9]/g, '');
}

function isNear(wanted: string, letters: string, edits: number): boolean {
  if (edits <= 1 + Math.floor(wanted.length / 4)) return wanted.length > edits;
  return wanted.length >= 4 && (letters.startsWith(wanted) || wanted.startsWith(letters));
}

/** Levenshtein distance, one row of the table at a time. */
function editsBetween(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const replaced = (previous[column - 1] ?? 0) + (a[row - 1] === b[column - 1] ? 0 : 1);
      const removed = (previous[column] ?? 0) + 1;
      const inserted = (current[column - 1] ?? 0) + 1;
      current.push(Math.min(replaced, removed, inserted));
    }
    previous = current;
  }
  return previous[b.length] ?? 0;
}

/** An event text taken apart as far as the formats need it. */
export interface EventParts {
  /** The whole event as it came. */
  text: string;
  /** The whole event, its diff as a JSON text inside a string: one field, whatever has changed. */
  textWithFlatDiff: string;
  /** Everything but the diff. */
  fields: EventFields;
}

export interface EventFields {
  id: string;
  timestamp: string;
  tenantId: string;
  actor: {
    id: string;
    email: string | null;
    role: string;
    ip: string | null;
    userAgent: string | null;
  };
  action: string;
  resource: { type: string; id: string; name: string | null };
  reason: string | null;
  category: string;
  crossTenant: boolean;
  sequence: number;
  receivedAt: string;
}

/**
 * Takes an event text apart. The diff is cut out before anything is parsed: it may be large, its
 * member names are anybody's, and what is sent on must be the very text that was recorded.
 */
export function eventParts(text: string): EventParts {
  const [start, end] = diffSpan(text);
  const [head, diff, tail] = [text.slice(0, start), text.slice(start, end), text.slice(end)];
  return {
    text,
    fields: JSON.parse(`${head}null${tail}`),
    get textWithFlatDiff() {
      return `${head}${JSON.stringify(diff)}${tail}`;
    },
  };
}

/** Where the value of the event's own member `diff` begins and ends. */
function diffSpan(text: string): [start: number, end: number] {
  // Strings are passed over whole, so that nothing inside them counts as structure.
  const token = /"(?:[^"\\]+|\\.)*"|[{}[\]]/gs;
  let depth = 0;
  let start = -1;
  for (let found = token.exec(text); found; found = token.exec(text)) {
    const [word] = found;
    if (word === '{' || word === '[') depth += 1;
    else if (word === '}' || word === ']') {
      depth -= 1;
      if (depth === 1 && start >= 0) return [start, token.lastIndex];
    } else if (depth === 1 && word === '"diff"' && text[token.lastIndex] === ':') {
      start = token.lastIndex + 1;
    }
  }
  throw new RangeError('the event has no diff');
}

/** Who did what to what, in one line for people. */
export function summary({ actor, action, resource }: EventFields): string {
  return `${actor.email ?? actor.id} ${action} ${resource.type} ${resource.name ?? resource.id}`;
}

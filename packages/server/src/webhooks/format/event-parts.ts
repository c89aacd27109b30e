/** An event text, split as far as the formats need it. */
export interface EventParts {
  /** The whole event, unchanged. */
  text: string;
  /** The whole event with its diff as JSON text in a string: one field for any change. */
  textWithFlatDiff: string;
  /** Everything except the diff. */
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
 * Splits an event text. The diff is cut out before parsing: it may be large, its member names are
 * arbitrary, and the forwarded text must be the recorded one.
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

/** The span of the event's own member `diff`. */
function diffSpan(text: string): [start: number, end: number] {
  // Skips whole strings, so that their content does not count as structure.
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

/** Actor, action and resource in one line. */
export function summary({ actor, action, resource }: EventFields): string {
  return `${actor.email ?? actor.id} ${action} ${resource.type} ${resource.name ?? resource.id}`;
}

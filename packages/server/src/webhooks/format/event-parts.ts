import {
  actorText,
  type EventContext,
  englishActors,
  outcomeSaid,
  partyName,
} from '@indelible/protocol';

/** An event text, split as far as the formats need it. */
export interface EventParts {
  text: string;
  /** The whole event with diff and metadata as JSON texts in strings: one field for any content. */
  flatText: string;
  /** Everything except diff and metadata. */
  fields: EventFields;
}

export interface EventFields extends Omit<EventContext, 'actor' | 'resource' | 'metadata'> {
  id: string;
  timestamp: string;
  tenantId: string;
  actor: {
    id: string;
    email: string | null;
    role: string;
    ip: string | null;
    userAgent: string | null;
  } & EventContext['actor'];
  action: string;
  resource: { type: string; id: string; name: string | null };
  reason: string | null;
  category: string;
  crossTenant: boolean;
  sequence: number;
  receivedAt: string;
}

/**
 * Splits an event text. Diff and metadata are cut out before parsing: they may be large, with any
 * member names, and the forwarded text must be the recorded one.
 */
export function eventParts(text: string): EventParts {
  const spans = freeSpans(text);
  return {
    text,
    fields: JSON.parse(replaced(text, spans, () => 'null')),
    get flatText() {
      return replaced(text, spans, JSON.stringify);
    },
  };
}

type Span = [start: number, end: number];

function replaced(text: string, spans: readonly Span[], by: (part: string) => string): string {
  let at = 0;
  const parts = spans.flatMap(([start, end]) => {
    const before = text.slice(at, start);
    at = end;
    return [before, by(text.slice(start, end))];
  });
  return [...parts, text.slice(at)].join('');
}

/** The spans of the event's own members `diff` and `metadata`, which are objects. */
function freeSpans(text: string): Span[] {
  // Skips whole strings, so that their content does not count as structure.
  const token = /"(?:[^"\\]+|\\.)*"|[{}[\]]/gs;
  const spans: Span[] = [];
  let depth = 0;
  let start = -1;
  for (let found = token.exec(text); found; found = token.exec(text)) {
    const [word] = found;
    if (word === '{' || word === '[') depth += 1;
    else if (word === '}' || word === ']') {
      depth -= 1;
      if (depth !== 1 || start < 0) continue;
      spans.push([start, token.lastIndex]);
      start = -1;
    } else if (depth === 1 && isFree(word) && text[token.lastIndex] === ':') {
      start = token.lastIndex + 1;
    }
  }
  return spans;
}

const isFree = (word: string) => word === '"diff"' || word === '"metadata"';

/** Actor, action and resource in one line, and the outcome unless it is success or not stated. */
export function summary(event: EventFields): string {
  const { action, resource } = event;
  const who = actorText(event, englishActors, (party) => partyName(party) ?? party.id ?? 'unknown');
  const outcome = outcomeSaid(event.outcome, action);
  const failed = outcome === null || outcome === 'success' ? '' : ` (${outcome})`;
  return `${who} ${action} ${resource.type} ${resource.name ?? resource.id}${failed}`;
}

import { quoted, withoutLinks } from '../../outbound/plain-line.ts';
import { type EventFields, eventParts, summary } from './event-parts.ts';
import type { AlertNews, EventBatch } from './message-format.ts';

/* What people read of events in a chat or an incident: short, and without addresses of others. */

/** A line about one event, and its page in the panel. */
export interface ChatLine {
  text: string;
  url: string;
}

/** A message for people: the first events, and how many more there are. */
export interface ChatMessage {
  title: string;
  lines: ChatLine[];
  more: number;
  /** The page that lists them all. */
  url: string;
}

const linesMax = 20;
const lineLengthMax = 300;

export function isAlert({ action, resource }: EventFields): boolean {
  return action === 'raise' && resource.type === 'alert';
}

/** One line of at most 300 characters, in which no program finds a link. */
export const plainLine = (text: string): string => shortened(withoutLinks(text), lineLengthMax);

function shortened(line: string, lengthMax: number): string {
  if (line.length <= lengthMax) return line;
  return `${line.slice(0, lengthMax - 1).replace(/\p{Cs}$/u, '')}…`;
}

/** A fixed word, then what others wrote, in quotation marks. */
function quotedBehind(word: string, text: string): string {
  const [start, end] = [`${word}: `, '”'];
  return `${start}${shortened(quoted(text).slice(0, -1), lineLengthMax - start.length - 1)}${end}`;
}

const alertLine = (rule: string) => quotedBehind('Alert', rule);

/** An alert by the name of its rule, other events with the declared reason. */
export function headline(event: EventFields): string {
  const { resource, reason } = event;
  if (isAlert(event)) return alertLine(resource.name ?? resource.id);
  const text = summary(event);
  return quotedBehind('Event', reason === null ? text : `${text}, reason: ${reason}`);
}

export const pageOf = (panelUrl: string, { id }: EventFields) =>
  `${panelUrl}/events/${encodeURIComponent(id)}`;

const counted = (count: number, word: string) => `${count} ${word}${count === 1 ? '' : 's'}`;

export function alertMessage({ ruleId, ruleName, ids, url }: AlertNews): ChatMessage {
  const lines = [{ text: alertLine(ruleName ?? ruleId), url }];
  return { title: `${counted(ids.length, 'alert')} in the audit log`, lines, more: 0, url };
}

/** `hasRoom` decides, before each further line, whether the product takes one more. */
export function chatMessage(
  { events, panelUrl }: EventBatch,
  hasRoom: (lines: readonly ChatLine[]) => boolean,
): ChatMessage {
  const all = events.map((text) => eventParts(text).fields);
  const lines: ChatLine[] = [];
  for (const event of all.slice(0, linesMax)) {
    const next = [...lines, { text: headline(event), url: pageOf(panelUrl, event) }];
    if (lines.length > 0 && !hasRoom(next)) break;
    lines.push(...next.slice(-1));
  }
  const alerts = all.filter(isAlert).length;
  const title = [
    ...(alerts > 0 ? [counted(alerts, 'alert')] : []),
    ...(alerts < all.length ? [counted(all.length - alerts, 'event')] : []),
  ].join(' and ');
  return {
    title: `${title} in the audit log`,
    lines,
    more: all.length - lines.length,
    url: `${panelUrl}/events`,
  };
}

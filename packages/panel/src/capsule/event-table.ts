import { formatTimestamp, revealed, type ShownEvent, uuidTimeMs } from '@indelible/protocol';
import { el } from './elements.ts';
import type { View } from './view.ts';

/** More rows at once would stop the page for seconds. */
const rowsAtOnce = 200;

/** The events; each opens to all that was recorded. */
export function eventTable({ texts }: View, events: readonly ShownEvent[]): HTMLElement {
  const list = el('ol', { class: 'events' });
  const more = el('button', { type: 'button' });
  let shown = 0;
  const showMore = () => {
    list.append(...events.slice(shown, shown + rowsAtOnce).map(eventRow));
    shown = list.children.length;
    more.textContent = texts.more({ count: events.length - shown });
    more.hidden = shown === events.length;
  };
  more.addEventListener('click', showMore);
  showMore();
  return el('div', {}, list, more);
}

function eventRow(event: ShownEvent): HTMLElement {
  const { actorEmail, actorId, action, resourceType, resourceName, resourceId, sequence } = event;
  const moment = formatTimestamp(uuidTimeMs(event.uuid));
  const what = `${action} ${resourceType} ${resourceName ?? resourceId}`;
  return el(
    'li',
    {},
    el(
      'details',
      {},
      el(
        'summary',
        {},
        el('time', {}, moment),
        ` ${revealed(actorEmail ?? actorId)} · ${revealed(what)} `,
        el('small', {}, `#${sequence}`),
      ),
      el('pre', {}, jsonOf(event)),
    ),
  );
}

/** All members as JSON; the texts that the log hashes are JSON themselves. */
function jsonOf(event: ShownEvent): string {
  const parsed = (text: string | null): unknown => (text === null ? null : JSON.parse(text));
  const { diff, before, after, context, contextIdentity, ...rest } = event;
  const states = { diff: parsed(diff), before: parsed(before), after: parsed(after) };
  const more = { context: parsed(context), contextIdentity: parsed(contextIdentity) };
  const lines = JSON.stringify({ ...rest, ...states, ...more }, null, 2).split('\n');
  return lines.map(revealed).join('\n');
}

import {
  type CapsuleContent,
  type CapsuleVerdict,
  facetNames,
  formatTimestamp,
  parseFilterBody,
  revealed,
  type ShownEvent,
  unknownPairs,
  uuidTimeMs,
} from '@indelible/protocol';
import type { Texts } from '../../../../locales/texts.ts';
import type { Formats } from '../i18n/formats.ts';

/** All that a verified capsule says, in the order in which a reader asks for it. */
export function contentOf(view: View, content: CapsuleContent): HTMLElement[] {
  const { texts } = view;
  const count = content.matches.length;
  return [
    section(
      revealed(content.data.search.note ?? texts.title),
      el('p', { class: 'answer' }, count === 0 ? texts.none : texts.matches({ count })),
      question(view, content),
    ),
    statements(texts.proves, proven(view, content)),
    statements(texts.provesNot, unproven(view, content)),
    ...(count === 0 ? [] : [section(texts.events, eventTable(view, content.matches))]),
    coverage(view, content),
    technical(view, content),
  ];
}

function question({ texts, filters, same, formats }: View, { data }: CapsuleContent): HTMLElement {
  const { search, tenant } = data;
  const parsed = parseFilterBody(search.filters);
  const filter = 'filter' in parsed ? parsed.filter : {};
  const { from = 0, to = 0 } = filter;
  const criteria = facetNames.flatMap((name): [string, string][] => {
    const { any = [], none = [] } = filter[name] ?? {};
    const values = [...any, ...none.map((value) => filters.not({ value }))];
    return values.length === 0 ? [] : [[filters[name], revealed(values.join(', '))]];
  });
  const { email, id } = search.createdBy;
  return factList([
    [texts.tenant, revealed(tenant.name)],
    [texts.range, `${formats.exact(from)} – ${formats.exact(to)}`],
    ...criteria,
    [same.by, `${revealed(email ?? id)} · ${formats.exact(search.createdAt)}`],
    [texts.madeAt, formats.exact(data.madeAt)],
  ]);
}

const statements = (title: string, sentences: readonly string[]) =>
  section(
    title,
    el(
      'ul',
      {},
      sentences.map((sentence) => el('li', {}, sentence)),
    ),
  );

function proven({ texts }: View, content: CapsuleContent): string[] {
  const { inRange, matches, checkpoint, isSaved } = content;
  const count = matches.length;
  return [
    texts.provesRange({ count: inRange, size: checkpoint.size }),
    count === 0 ? texts.provesNone : texts.provesOnly({ count }),
    texts.provesContent,
    texts.provesFile,
    ...(isSaved ? [texts.provesSaved] : []),
  ];
}

function unproven(view: View, content: CapsuleContent): string[] {
  const { texts, same } = view;
  const { data, unseen, isSaved } = content;
  const { first } = data.log;
  const values = unknownTexts(view, content).map(revealed).join(', ');
  return [
    ...(values === '' ? [] : [same.notUnknown({ values })]),
    ...(unseen > 0 ? [texts.unseen({ count: unseen })] : []),
    ...(isSaved ? [] : [texts.notSaved({ count: data.search.matched })]),
    same.notRecorded,
    same.notTruth,
    ...(first > 0 ? [texts.notBefore({ count: first })] : []),
    texts.notAfter,
    texts.notKey,
    texts.notProgram,
  ];
}

/** What the service states beside the log, which proves only that it was stated. */
function coverage({ texts, filters, same, formats }: View, { data }: CapsuleContent): HTMLElement {
  const { logBeganAt, shownFrom, totals } = data.coverage;
  const gaps = data.sources.filter((source) => source.gaps.length > 0 || source.gapsDropped);
  const names = (sources: typeof gaps) => sources.map(({ id }) => revealed(id)).join(', ');
  const whole = data.sources.filter((source) => !gaps.includes(source));
  return section(
    same.coverage,
    el('p', {}, texts.coverageText),
    factList([
      [same.logBegan, formats.exact(logBeganAt)],
      [same.shownFrom, formats.exact(shownFrom)],
      ...totals.map(({ filter, value, events }): [string, string] => [
        `${filters[filter as 'user']}: ${revealed(value)}`,
        (events.relation === 'eq' ? texts.total : texts.totalOver)({ count: events.value }),
      ]),
      ...(whole.length > 0 ? [[texts.wholeSources, names(whole)] as const] : []),
      ...(gaps.length > 0 ? [[texts.gapSources, names(gaps)] as const] : []),
    ]),
    data.sources.length === 0 ? el('p', {}, texts.noSources) : null,
  );
}

function technical(
  { texts, same, formats }: View,
  { data, checkpoint }: CapsuleContent,
): HTMLElement {
  const mono = (text: string) => el('code', {}, revealed(text));
  return section(
    texts.technical,
    factList([
      [same.id, mono(data.search.id)],
      [same.address, mono(data.search.url)],
      [texts.log, mono(checkpoint.origin)],
      [texts.size, formats.number(checkpoint.size)],
      [same.digest, mono(data.search.digest)],
      [same.signedNote, el('pre', {}, data.checkpoint)],
      [same.key, el('pre', {}, data.vkeys.join('\n'))],
    ]),
  );
}

/**
 * Whether the file can be believed, in one sentence, and what contradicts it. Before that, in red,
 * of which persons and resources even an intact file shows nothing.
 */
export function verdictBox(view: View, { code, problems, content }: Outcome): HTMLElement {
  const { texts, same } = view;
  const { title, text } = texts[code];
  const unknown = unknownTexts(view, content);
  const [look, lines] = unknown.length > 0 ? ['unknown', unknown] : [code, problems];
  const items = lines.map((line) => el('li', {}, revealed(line)));
  const isUnknown = look === 'unknown';
  return el(
    'div',
    { class: `verdict ${look}`, role: 'status' },
    el('h1', {}, isUnknown ? same.unknown : title),
    el('p', {}, isUnknown ? same.unknownText : text),
    items.length === 0 ? null : el('ul', {}, items),
    isUnknown ? el('p', {}, `${title}. ${text}`) : null,
  );
}

function unknownTexts({ filters }: View, content: CapsuleContent | null): string[] {
  return unknownPairs(content?.unknownValues ?? {}).map(
    ([name, value]) => `${filters[name]}: ${value}`,
  );
}

/** More rows at once would stop the page for seconds. */
const rowsAtOnce = 200;

/** The events; each opens to all that was recorded. */
function eventTable({ texts }: View, events: readonly ShownEvent[]): HTMLElement {
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

/** What every part of the page writes with. */
export interface View {
  texts: Texts['capsule'];
  filters: Texts['panel']['filters'];
  /** The texts that the panel's page has too. */
  same: Texts['panel']['evidence'];
  formats: Formats;
}

/** `unchecked`: this browser could not check. */
type Outcome = CapsuleVerdict | { code: 'unchecked'; problems: readonly string[]; content: null };

type Child = Node | string | null;

/** An element with text and elements in it. Text never becomes markup. */
export function el<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Readonly<Record<string, string>>,
  ...children: readonly (Child | readonly Child[])[]
): HTMLElementTagNameMap[Tag] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  for (const child of children.flat()) if (child !== null) element.append(child);
  return element;
}

/** Names and their values, as a list. */
function factList(facts: readonly (readonly [name: string, value: Child])[]): HTMLElement {
  const rows = facts.map(([name, value]) => el('div', {}, el('dt', {}, name), el('dd', {}, value)));
  return el('dl', {}, rows);
}

export const section = (title: string, ...children: readonly (Child | readonly Child[])[]) =>
  el('section', {}, el('h2', {}, title), ...children);

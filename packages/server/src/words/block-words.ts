import {
  actorAddress,
  type CommittedEvent,
  type EventFilter,
  eventWords,
  type FacetName,
  facetNames,
  folded,
  indexedWords,
  isUuid,
  searchedTexts,
  type ValueFilter,
  wordsOf,
} from '@indelible/protocol';

/** The fields that a block says something of. */
export const blockKeys = [
  ...['actorId', 'action', 'resourceType', 'resourceId', 'category'],
  ...[
    'actorEmail',
    'actorIp',
    'actorRole',
    'resourceName',
    'reason',
    'diff',
    'context',
    'contextIdentity',
  ],
] as const satisfies (keyof CommittedEvent)[];
export type BlockFields = Pick<CommittedEvent, (typeof blockKeys)[number]>;

/** Filters whose values stand in a block as marks. */
const marked: Partial<Record<FacetName, (event: BlockFields) => (string | null)[]>> = {
  user: (event) => [event.actorId, actorAddress(event)],
  action: ({ action }) => [action],
  resource: ({ resourceType }) => [resourceType],
  resourceId: ({ resourceId }) => [resourceId],
  category: ({ category }) => [category],
  ip: ({ actorIp }) => [actorIp],
};
// A mark in a stored block depends on the place in this list: a new facet must be its last.
const markedFacets = facetNames.filter((facet) => facet in marked);

/** Filters whose values are texts of an event, so that it has their words. */
const textFacets: readonly FacetName[] = ['onBehalfOf', 'correlationId', 'target', 'traceId'];

/** What a block says of an event: its words, and the marks of values that filters compare. */
export const blockWords = (event: BlockFields): Set<string> => withMarks(eventWords(event), event);

/** Most events have fewer, and are done at once. Of ligatures they take 3 ms. */
const charactersInTurn = 4_000;

/** The block words; lets others go on by `giveWay` in between: one event may take 150 ms. */
export async function blockWordsInTurns(
  event: BlockFields,
  giveWay: () => Promise<void>,
): Promise<Set<string>> {
  const words = new Set<string>();
  let characters = 0;
  for (const text of searchedTexts(event)) {
    for (const word of indexedWords(text)) words.add(word);
    characters += text.length;
    if (characters < charactersInTurn) continue;
    characters = 0;
    await giveWay();
  }
  return withMarks(words, event);
}

function withMarks(words: Set<string>, event: BlockFields): Set<string> {
  for (const facet of markedFacets) {
    for (const value of marked[facet]?.(event) ?? []) if (value) words.add(markOf(facet, value));
  }
  return words;
}

/**
 * All texts of an event that have words, folded. JSON writes letters and digits as they are, so
 * each word is a part of this, except joined numbers. It takes a hundredth of the time of the
 * words.
 */
export function foldedTexts(event: BlockFields): string {
  const { actorEmail, actorIp, resourceName, reason, diff, context, contextIdentity } = event;
  const words = [event.action, event.resourceType, event.actorRole];
  const personal = [actorEmail, actorIp, resourceName, reason];
  return folded([...words, ...personal, diff, context, contextIdentity].join('\n'));
}

/**
 * A hash of 30 bits, as a word that no query has. Values may share a mark: it narrows a search, and
 * the statement compares the values.
 */
function markOf(facet: FacetName, value: string): string {
  let hash = 0x811c9dc5 ^ markedFacets.indexOf(facet);
  for (let at = 0; at < value.length; at++)
    hash = Math.imul(hash ^ value.charCodeAt(at), 0x01000193);
  const sixBits = [0, 6, 12, 18, 24].map((shift) => 0x30 + ((hash >>> shift) & 0x3f));
  return String.fromCharCode(0x3d, ...sixBits); // "=" is in no word
}

/** What an event must have in its block: of every group one alternative, of that all words. */
export interface WantedWords {
  groups: string[][][];
  /** And none of these alternatives. */
  none: string[][];
}

/** The events that match a filter are among those with these words. */
export function wantedWords(filter: EventFilter): WantedWords {
  const { any = [], none = [] } = filter.q ?? {};
  const groups = any.length === 0 ? [] : [any.map(wordsOnce)];
  for (const facet of facetNames) {
    const values = facet === 'q' ? [] : (filter[facet]?.any ?? []);
    const alternatives = values.map((value) => wordsOfValue(facet, value));
    if (values.length > 0 && alternatives.every((words) => words.length > 0)) {
      groups.push(alternatives);
    }
  }
  return { groups, none: none.map(wordsOnce) };
}

const wordsOnce = (query: string) => [...new Set(wordsOf(query))];

/** Filters without an index: the words of their values find the events. */
const foundByWords = ['target', 'traceId'] as const;

/** The words by which the events of a filter are found; undefined: not by words. */
export function wordsToFind(filter: EventFilter): ValueFilter | undefined {
  if (filter.q !== undefined) return filter.q;
  const found = foundByWords.map((facet) => filter[facet]?.any ?? []);
  const any = found.find((values) => values.length > 0) ?? [];
  const haveWords = any.length > 0 && any.every((value) => wordsOf(value).length > 0);
  return haveWords ? { any, none: [] } : undefined;
}

/** Words that each event with the value has; none if that is unknown. */
function wordsOfValue(facet: FacetName, value: string): string[] {
  if (facet in marked) return [markOf(facet, value)];
  const isText = textFacets.includes(facet) && !(facet === 'onBehalfOf' && isUuid(value));
  // Other letters may be folded in another way in lower case than in the text of the event.
  return isText && /^\p{ASCII}*$/u.test(value) ? wordsOnce(value) : [];
}

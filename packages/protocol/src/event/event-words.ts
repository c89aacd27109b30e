import { indexedWords } from '../filter/words.ts';
import { parseStrictJson } from '../json/strict-json.ts';
import { contextOf } from './context.ts';
import type { CommittedEvent } from './event-fields.ts';
import type { Diff } from './state-diff.ts';

/** The fields whose words are found. */
export type SearchedFields = Pick<
  CommittedEvent,
  | ('actorEmail' | 'actorIp' | 'actorRole' | 'action' | 'resourceType' | 'resourceName')
  | ('reason' | 'diff' | 'context' | 'contextIdentity')
>;

/** The part of a value of a diff that is searched. */
const valueCharactersMax = 1_000;

/**
 * The words of an event: of action, types, roles, names, addresses, own ids, IP, reason,
 * correlation and trace id, the way it was done, metadata, texts as they were sent, and of paths
 * and values of its diff; never of its states. Erased texts are not there. Or only those of the
 * texts that are `wanted`.
 */
export function eventWords(
  event: SearchedFields,
  wanted: (text: string) => boolean = () => true,
): Set<string> {
  const words = new Set<string>();
  for (const text of searchedTexts(event))
    if (wanted(text)) for (const word of indexedWords(text)) words.add(word);
  return words;
}

/** The texts that have these words, of at most 1,000 characters each. */
export function* searchedTexts(event: SearchedFields): Generator<string> {
  const { actorEmail, actorIp, resourceName, reason, diff } = event;
  yield* [event.action, event.resourceType, event.actorRole];
  for (const text of [actorEmail, actorIp, resourceName, reason]) if (text !== null) yield text;
  if (diff !== '{}') yield* diffTexts(diff);
  if (event.context !== null || event.contextIdentity !== null) yield* contextWords(event);
}

function* diffTexts(diff: string): Generator<string> {
  for (const [path, change] of Object.entries(parseStrictJson(diff).value as Diff)) {
    yield path;
    for (const value of [change.from, change.to]) {
      if (value !== null) yield String(value).slice(0, valueCharactersMax);
    }
  }
}

function* contextWords(event: SearchedFields): Generator<string> {
  const {
    actor,
    resource,
    correlationId,
    traceId,
    via,
    metadata = {},
    asSent = {},
    ...lists
  } = contextOf(event);
  yield* Object.values(asSent);
  yield* present([actor?.name, actor?.externalId, resource?.externalId]);
  yield* present([correlationId, traceId, ...Object.values(via ?? {})]);
  for (const { id, type, name, externalId } of lists.targets ?? []) {
    yield* present([id, type, name, externalId]);
  }
  for (const { name, externalId, email, role } of lists.onBehalfOf ?? []) {
    yield* present([name, externalId, email, role]);
  }
  for (const [key, value] of Object.entries(metadata)) {
    yield key;
    if (value !== null) yield String(value);
  }
}

const present = (texts: readonly (string | undefined)[]) =>
  texts.filter((text) => text !== undefined);

import {
  type Catalogue,
  type CatalogueFile,
  createCatalogue,
  isWord,
  wordForm,
} from '@indelible/protocol';
import type { EventInput } from '../api-types.ts';
import type { KnownAction, KnownResourceType } from './words.ts';

/** The words of a product's events. */
export interface EventCatalogue<A extends string, R extends string> {
  /** The declared ones, without the standard ones. */
  readonly actions: readonly A[];
  readonly resourceTypes: readonly R[];
  /** Returns the event; the compiler checks its words. For sinks that take any event. */
  event(event: EventInput<A, R>): EventInput<A, R>;
}

/** The product's own words: `snake_case` with dots between them, at most 64 characters. */
export interface CatalogueWords<A extends string, R extends string> {
  actions?: readonly A[];
  resourceTypes?: readonly R[];
  /** The content of the service's CATALOGUE_FILE; default: the default catalogue. */
  catalogueFile?: CatalogueFile;
}

/**
 * Declares a product's actions and resource types. A client, recorder, outbox or capture with this
 * catalogue accepts these and the known ones; any other word is a type error. Throws TypeError for
 * a word that the service would refuse.
 */
export function defineCatalogue<const A extends string = never, const R extends string = never>(
  words: CatalogueWords<A, R>,
): EventCatalogue<KnownAction | A, KnownResourceType | R> {
  const { actions = [], resourceTypes = [], catalogueFile } = words;
  const service = createCatalogue(catalogueFile);
  for (const action of actions) requireRecordable(service, action, action, 'thing');
  for (const type of resourceTypes) requireRecordable(service, type, 'create', type);
  return { actions, resourceTypes, event: (event) => event };
}

function requireRecordable(
  service: Catalogue,
  word: string,
  action: string,
  resourceType: string,
): void {
  if (!isWord(word)) {
    throw new TypeError(`${JSON.stringify(word)} is not ${wordForm}, of at most 64 characters`);
  }
  const why = service.notRecordable(action, resourceType);
  if (why !== null) throw new TypeError(`${word} cannot be recorded. ${why}`);
}

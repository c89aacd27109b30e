/** What the words of an event mean: its category, whether it is welcome, what it should carry. */

import { actionsByCategory, categories, refusals, sensitiveTypes } from './catalogue-data.ts';
import { isSnakeCase } from './field-rules.ts';

export type Category = (typeof categories)[number];

/** Configuration's additions: own words with their category, and further sensitive types. */
export interface CatalogueExtension {
  actions?: Readonly<Record<string, string>>;
  sensitiveTypes?: readonly string[];
}

export interface Catalogue {
  /** The resource types whose changes should carry complete states. */
  readonly sensitiveTypes: ReadonlySet<string>;
  /** Follows from the action alone, unless `crossTenant`, which wins. Unknown: configuration. */
  categoryOf(action: string, crossTenant: boolean): Category;
  /** The sentence why such an event is refused (`not_recordable`), or null when it is welcome. */
  notRecordable(action: string, resourceType: string): string | null;
  /**
   * Whether a change of a sensitive type lacks a state it should carry (warning `state_missing`):
   * `create` needs the one after, `delete` the one before, every other change both. Reading,
   * signing in or sending changes nothing and needs none.
   */
  stateWarning(
    resourceType: string,
    action: string,
    hasBefore: boolean,
    hasAfter: boolean,
  ): boolean;
}

/** Whether `text` names a category. */
export function isCategory(text: string): text is Category {
  return (categories as readonly string[]).includes(text);
}

/**
 * The catalogue, with `extension` added. Throws RangeError with a sentence for the operator when
 * the extension is not made of snake_case words, names no category an action can have, or gives a
 * word of the catalogue another category.
 */
export function createCatalogue(extension: CatalogueExtension = {}): Catalogue {
  const categoryByAction = extendedActions(extension.actions ?? {});
  const sensitive = extendedTypes(extension.sensitiveTypes ?? []);
  const actionCategory = (action: string) => categoryByAction.get(action) ?? 'configuration';
  return {
    sensitiveTypes: sensitive,
    categoryOf: (action, crossTenant) => (crossTenant ? 'cross_tenant' : actionCategory(action)),
    notRecordable,
    stateWarning(resourceType, action, hasBefore, hasAfter) {
      if (!sensitive.has(resourceType) || actionCategory(action) !== 'configuration') return false;
      return (action !== 'delete' && !hasAfter) || (action !== 'create' && !hasBefore);
    },
  };
}

/** The catalogue without any additions. */
export const defaultCatalogue: Catalogue = createCatalogue();

function notRecordable(action: string, resourceType: string): string | null {
  const refusal = refusals.find(
    (each) =>
      (each.actions?.includes(action) ?? true) &&
      (each.resourceTypes?.includes(resourceType) ?? true),
  );
  return refusal?.why ?? null;
}

// A Map, because words like `constructor` are valid actions and members of every plain object.
function extendedActions(additions: Readonly<Record<string, string>>): Map<string, Category> {
  const known = new Map<string, Category>();
  for (const category of categories) {
    if (category === 'cross_tenant') continue;
    for (const action of actionsByCategory[category]) known.set(action, category);
  }
  for (const [action, category] of Object.entries(additions)) {
    if (!isSnakeCase(action)) throw new RangeError(`the action ${action} is not snake_case`);
    if (!isCategory(category) || category === 'cross_tenant') {
      throw new RangeError(`${category} is not a category that the action ${action} can have`);
    }
    if ((known.get(action) ?? category) !== category) {
      throw new RangeError(`the action ${action} has another category in the catalogue`);
    }
    known.set(action, category);
  }
  return known;
}

function extendedTypes(additions: readonly string[]): Set<string> {
  const wrong = additions.find((type) => !isSnakeCase(type));
  if (wrong !== undefined) throw new RangeError(`the resource type ${wrong} is not snake_case`);
  return new Set([...sensitiveTypes, ...additions]);
}

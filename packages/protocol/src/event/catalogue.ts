/** What an event's words mean: its category, whether it is refused, which states it needs. */

import { createPlans, defaultPlans, type PlanDefinition } from '../plan.ts';
import {
  type ActionCategory,
  actionsByCategory,
  categories,
  contactCenter,
  type EventWords,
} from './catalogue-data.ts';
import { lastWord } from './field-rules.ts';

export type Category = (typeof categories)[number];

/** The content of a CATALOGUE_FILE. The default replaces an absent part. */
export interface CatalogueFile {
  plans?: readonly PlanDefinition[];
  events?: EventWords;
}

export type Catalogue = ReturnType<typeof createCatalogue>;

export function isCategory(text: string): text is Category {
  return (categories as readonly string[]).includes(text);
}

/**
 * Throws RangeError with an error text for the operator if parts of `file` contradict each other.
 * `parseCatalogueFile` has checked their shape.
 */
export function createCatalogue({ plans, events = contactCenter }: CatalogueFile = {}) {
  const categoryByAction = knownActions(events.actions ?? {});
  const sensitive = new Set(events.sensitiveTypes);
  const refusals = events.notRecordable ?? [];
  requireNarrow(refusals);
  requireKnownTypes(events);
  const actionCategory = (action: string) =>
    categoryByAction.get(action) ?? categoryByAction.get(lastWord(action)) ?? 'configuration';
  return {
    plans: plans ? createPlans(plans) : defaultPlans,
    /** The scope of the page "Sensitive access"; null if the catalogue names no types. */
    sensitiveAccess: accessOf(events.accessTypes ?? [], categoryByAction),
    /** By the action's last word, unless `crossTenant` is true. Unknown: `configuration`. */
    categoryOf: (action: string, crossTenant: boolean): Category =>
      crossTenant ? 'cross_tenant' : actionCategory(action),
    /** Why the event is refused (`not_recordable`); null if it is not. */
    notRecordable(action: string, resourceType: string): string | null {
      const refusal = refusals.find(
        (each) =>
          (each.actions?.some((word) => word === action || word === lastWord(action)) ?? true) &&
          (each.resourceTypes?.includes(resourceType) ?? true),
      );
      return refusal?.why ?? null;
    },
    /**
     * Whether a change of a sensitive type lacks a required state (warning `state_missing`):
     * `create` needs `after`, `delete` needs `before`, every other change needs both. Reading,
     * signing in and sending need none.
     */
    stateWarning(resourceType: string, action: string, hasBefore: boolean, hasAfter: boolean) {
      if (!sensitive.has(resourceType) || actionCategory(action) !== 'configuration') return false;
      const word = lastWord(action);
      return (word !== 'delete' && !hasAfter) || (word !== 'create' && !hasBefore);
    },
  };
}

export const defaultCatalogue = createCatalogue();

/** The categories of the standard actions, which no catalogue can change. */
export const standardActions: ReadonlyMap<string, ActionCategory> = knownActions({});

// A Map, because `constructor` and other members of Object.prototype are valid actions.
function knownActions(additions: NonNullable<EventWords['actions']>): Map<string, ActionCategory> {
  const known = new Map<string, ActionCategory>();
  for (const actions of [actionsByCategory, additions]) {
    for (const [category, words] of Object.entries(actions)) {
      for (const action of words) {
        const former = known.get(action) ?? known.get(lastWord(action));
        if (former !== undefined && former !== category) {
          throw new RangeError(`the action ${action} is ${former} and cannot be ${category} too`);
        }
        known.set(action, category as ActionCategory);
      }
    }
  }
  return known;
}

function requireNarrow(refusals: NonNullable<EventWords['notRecordable']>): void {
  const wide = refusals.find(({ actions, resourceTypes }) => !actions && !resourceTypes);
  if (!wide) return;
  throw new RangeError(`notRecordable "${wide.why}" needs actions, resourceTypes or both`);
}

function requireKnownTypes({ resourceTypes = [], sensitiveTypes, accessTypes }: EventWords): void {
  for (const [list, types = []] of Object.entries({ sensitiveTypes, accessTypes })) {
    const unknown = types.find((type) => !resourceTypes.includes(type));
    if (unknown === undefined) continue;
    throw new RangeError(`${list} names ${unknown}, which resourceTypes does not name`);
  }
}

function accessOf(types: readonly string[], categoryByAction: ReadonlyMap<string, string>) {
  if (types.length === 0) return null;
  const known = [...categoryByAction];
  const actions = known.flatMap(([word, category]) => (category === 'data_access' ? [word] : []));
  return { resourceTypes: [...types], actions };
}

import { isCategory } from './catalogue.ts';
import { actionsByCategory } from './catalogue-data.ts';
import type { ShownEvent } from './committed-event.ts';
import { uuidTimeMs } from './event-id.ts';
import { formatAnyTimestamp } from './timestamp.ts';

/**
 * The first field of an event that is not what follows from the others, in a sentence, or null:
 * `timestamp` from the id, `crossTenant` from the role, `category` from action and `crossTenant`,
 * `hasState` from whether the event has a state segment, `receivedAt` from the log's entry.
 */
export function derivedFieldProblem(
  event: ShownEvent,
  hasStateSegment: boolean,
  receivedAtUs: number,
): string | null {
  if (event.timestamp !== formatAnyTimestamp(uuidTimeMs(event.uuid))) {
    return 'timestamp is not the time within the id';
  }
  if (event.receivedAt !== formatAnyTimestamp(Math.floor(receivedAtUs / 1000))) {
    return 'receivedAt is not the time of its log entry';
  }
  if (event.crossTenant !== (event.actorRole === 'superadmin')) {
    return 'crossTenant does not follow from actor.role';
  }
  if (!mayHaveCategory(event)) return 'category does not follow from action and crossTenant';
  return event.hasState === hasStateSegment ? null : 'hasState does not say whether there is one';
}

const categoryByAction = new Map<string, string>();
for (const [category, actions] of Object.entries(actionsByCategory)) {
  for (const action of actions) categoryByAction.set(action, category);
}

// Configuration may give a word of its own any category, and never moves a word of the catalogue.
function mayHaveCategory({ action, category, crossTenant }: ShownEvent): boolean {
  if (crossTenant || category === 'cross_tenant') return crossTenant && category === 'cross_tenant';
  return (categoryByAction.get(action) ?? category) === category && isCategory(category);
}

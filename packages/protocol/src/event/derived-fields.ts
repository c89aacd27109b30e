import { isCategory, standardActions } from './catalogue.ts';
import type { ShownEvent } from './committed-event.ts';
import { uuidTimeMs } from './event-id.ts';
import { lastWord } from './field-rules.ts';
import { formatAnyTimestamp } from './timestamp.ts';

/**
 * An error text for the first field that does not match the others, or null: `timestamp` follows
 * from the id, `crossTenant` from the role, `category` from action and `crossTenant`, `hasState`
 * from the state segment, `receivedAt` from the log entry.
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

// A catalogue can give its own actions any category, but cannot change a standard action's.
function mayHaveCategory({ action, category, crossTenant }: ShownEvent): boolean {
  if (crossTenant || category === 'cross_tenant') return crossTenant && category === 'cross_tenant';
  return (standardActions.get(lastWord(action)) ?? category) === category && isCategory(category);
}

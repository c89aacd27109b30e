import { isCategory, standardActions } from './catalogue.ts';
import type { ShownEvent } from './committed-event.ts';
import { contextOf } from './context.ts';
import { isOperators } from './delegation.ts';
import { uuidTimeMs } from './event-id.ts';
import { lastWord, operatorRole } from './field-rules.ts';
import { formatAnyTimestamp } from './timestamp.ts';

/**
 * An error text for the first field that does not match the others, or null: `timestamp` follows
 * from the id, `crossTenant` from the roles, `category` from action and `crossTenant`, `hasState`
 * from the state segment, `receivedAt` from the log entry.
 */
export function derivedFieldProblem(
  event: ShownEvent,
  hasStateSegment: boolean,
  receivedAtUs: number,
  isContextWithheld = false,
): string | null {
  if (event.timestamp !== formatAnyTimestamp(uuidTimeMs(event.uuid))) {
    return 'timestamp is not the time within the id';
  }
  if (event.receivedAt !== formatAnyTimestamp(Math.floor(receivedAtUs / 1000))) {
    return 'receivedAt is not the time of its log entry';
  }
  if (!mayBeCrossTenant(event, isContextWithheld)) {
    return 'crossTenant does not follow from the roles of actor and onBehalfOf';
  }
  if (!mayHaveCategory(event)) return 'category does not follow from action and crossTenant';
  return event.hasState === hasStateSegment ? null : 'hasState does not say whether there is one';
}

/**
 * Earlier builds looked at the actor's role alone, so an event on behalf of an operator may have
 * either value. So may an event whose people are withheld.
 */
function mayBeCrossTenant(event: ShownEvent, isContextWithheld: boolean): boolean {
  const { actorRole, context, crossTenant } = event;
  if (crossTenant === (actorRole === operatorRole)) return true;
  if (!crossTenant) return false;
  if (isContextWithheld) return true;
  return Boolean(context?.includes(operatorRole)) && isOperators(contextOf(event));
}

// A catalogue can give its own actions any category, but cannot change a standard action's.
function mayHaveCategory({ action, category, crossTenant }: ShownEvent): boolean {
  if (crossTenant || category === 'cross_tenant') return crossTenant && category === 'cross_tenant';
  return (standardActions.get(lastWord(action)) ?? category) === category && isCategory(category);
}

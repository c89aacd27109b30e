import type { EventInput } from '../api-types.ts';

/*
 * Reads events from a file or table that other programs may have changed. Never throws: a bad line
 * must not stop the delivery of the others.
 */

/** The event of a JSON text; an empty object if it is not an event. */
export function eventOf(text: string): Partial<EventInput> {
  try {
    const event: unknown = JSON.parse(text);
    return typeof event === 'object' && event !== null ? event : {};
  } catch {
    return {}; // the service says what is wrong with it
  }
}

/** The event's tenant in lower case; '' if the credential decides. */
export function tenantOf(text: string): string {
  const { tenantId } = eventOf(text);
  return typeof tenantId === 'string' ? tenantId.toLowerCase() : '';
}

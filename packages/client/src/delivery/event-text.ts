import type { EventInput } from '../api-types.ts';

/*
 * Events as they wait in a file or a table, where somebody may have written something else: nothing
 * here throws, because one bad line must not end the delivery of the others.
 */

/** The event of this JSON text; one without members when it is none. */
export function eventOf(text: string): Partial<EventInput> {
  try {
    const event: unknown = JSON.parse(text);
    return typeof event === 'object' && event !== null ? event : {};
  } catch {
    return {}; // the service says what is wrong with it
  }
}

/** Whose event it is, in lower case; '' where that is left to the credential. */
export function tenantOf(text: string): string {
  const { tenantId } = eventOf(text);
  return typeof tenantId === 'string' ? tenantId.toLowerCase() : '';
}

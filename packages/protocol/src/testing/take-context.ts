import { randomBytes } from 'node:crypto';
import { createCatalogue } from '../event/catalogue.ts';
import { contextOf } from '../event/context.ts';
import { eventUuid } from '../event/event-id.ts';
import { createMasker } from '../event/masking.ts';
import { type TakeContext, takeEvent } from '../event/take-event.ts';

export const boundTenantId = 'aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee';
export const nowMs = Date.UTC(2025, 8, 3, 10, 0, 0, 123);

/** A valid event, as a host product would send it. */
export function eventOf(changes: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    actor: {
      id: '7f9c2ba4-e88f-4a1b-9c3d-1f2e3d4c5b6a',
      email: 'ana@example.com',
      role: 'admin',
      ip: '203.0.113.7',
      userAgent: 'Mozilla/5.0',
    },
    action: 'update',
    resource: { type: 'queue', id: '0b54a1de-6e0f-4c66-a24c-2c4f6f2c7a11', name: 'Support' },
    diff: { maxWait: { from: 30, to: 60 } },
    ...changes,
  };
}

/** The nth of many valid events: every third one has fields of entry version 2. */
export function nthEvent(n: number, changes: Record<string, unknown> = {}) {
  if (n % 3 !== 0) return eventOf(changes);
  const onBehalfOf = [{ externalId: `user_${n}`, email: `user${n}@example.com` }];
  return eventOf({ outcome: 'success', correlationId: `request ${n}`, onBehalfOf, ...changes });
}

/** What `takeEvent` needs, for a key that is bound to `boundTenantId`, at `nowMs`. */
export function takeContext(changes: Partial<TakeContext> = {}): TakeContext {
  return {
    nowMs,
    newUuid: (timeMs) => eventUuid(timeMs, randomBytes(10)),
    catalogue: createCatalogue(),
    masker: createMasker(),
    recordedBy: { kind: 'api_key', id: '0b54a1de-6e0f-4c66-a24c-2c4f6f2c7a11' },
    boundTenantId,
    ...changes,
  };
}

/**
 * Takes a valid event with these changes and gives back its columns and warnings; fails if refused.
 */
export function taken(changes: Record<string, unknown> = {}, context: Partial<TakeContext> = {}) {
  const taken = takeEvent(eventOf(changes), takeContext(context));
  if (!taken.event) throw new Error(`refused: ${JSON.stringify(taken.refusal)}`);
  return { ...taken, asSent: contextOf(taken.event).asSent };
}

/**
 * The refusal of a valid event with these changes: its code and `path code` of each field error.
 */
export function refused(changes: Record<string, unknown>, context: Partial<TakeContext> = {}) {
  return refusedRaw(eventOf(changes), context);
}

export function refusedRaw(raw: unknown, context: Partial<TakeContext> = {}) {
  const { refusal } = takeEvent(raw, takeContext(context));
  const errors = refusal?.errors?.map(({ path, code }) => `${path} ${code}`);
  return { code: refusal?.code, detail: refusal?.detail, errors: errors ?? [] };
}

/** The actor of `eventOf`, with changes. */
export function actorWith(changes: Record<string, unknown>): Record<string, unknown> {
  return { ...(eventOf().actor as object), ...changes };
}

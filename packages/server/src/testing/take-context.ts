import { createHash, randomBytes } from 'node:crypto';
import { createCatalogue, createMasker, defaultMaskedKeys } from '@indelible/protocol';
import { type TakeContext, takeEvent } from '../events/take-event.ts';
import { createUuidSource } from '../events/uuid-source.ts';
import { eventOf } from './service.ts';

const random = (bytes: number) => new Uint8Array(randomBytes(bytes));

export const boundTenantId = 'aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee';
export const nowMs = Date.UTC(2025, 8, 3, 10, 0, 0, 123);

/** What `takeEvent` needs, for a key that is bound to `boundTenantId`, at `nowMs`. */
export function takeContext(changes: Partial<TakeContext> = {}): TakeContext {
  return {
    nowMs,
    random,
    newUuid: createUuidSource(random),
    sha: (data) => new Uint8Array(createHash('sha256').update(data).digest()),
    catalogue: createCatalogue(),
    masker: createMasker(defaultMaskedKeys),
    recordedBy: { kind: 'api_key', id: '0b54a1de-6e0f-4c66-a24c-2c4f6f2c7a11' },
    boundTenantId,
    ...changes,
  };
}

/**
 * Takes a valid event with these changes and gives back its columns and warnings; fails if refused.
 */
export function taken(changes: Record<string, unknown> = {}, context: Partial<TakeContext> = {}) {
  const { event, warnings, refusal } = {
    warnings: [],
    ...takeEvent(eventOf(changes), takeContext(context)),
  };
  if (!event) throw new Error(`refused: ${JSON.stringify(refusal)}`);
  return { event, warnings };
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

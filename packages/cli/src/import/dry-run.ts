import { hash, randomBytes } from 'node:crypto';
import type { BatchResult } from '@indelible/client';
import {
  backdatedHoursDefault,
  type Catalogue,
  createMasker,
  eventBytesMax,
  eventUuid,
  nilUuid,
  parseStrictJson,
  takeEvent,
  tooLarge,
} from '@indelible/protocol';
import { numberOf } from './line-orders.ts';
import type { ImportService } from './run-import.ts';
import { sourceIdsMax } from './source-id-table.ts';

const masker = createMasker();
const hashOf = (text: string) => numberOf(hash('sha256', text, 'buffer'));

/**
 * Answers as the service does and stores nothing. It knows the ids of this run only, up to ten
 * million of them: not the service's tenants, what their plans keep, nor the ids that are stored.
 */
export function dryService(catalogue: Catalogue, now: () => number): ImportService {
  /** Hashes of tenant and id, and of content: some 50 bytes an event. */
  const taken = new Map<number, number>();
  const judge = (text: string): Omit<BatchResult, 'index'> => {
    const result = take(text, catalogue, now());
    if (result.refusal) return { status: 'rejected', error: result.refusal };
    const { event, warnings } = result;
    const id = hashOf(`${event.tenantId} ${event.uuid}`);
    const content = hashOf(JSON.stringify(event));
    const first = taken.get(id);
    if (first === content) return { status: 'duplicate', warnings };
    if (first !== undefined) {
      const detail = 'the same id with other content stands in an earlier line';
      return { status: 'rejected', error: { code: 'id_conflict', detail } };
    }
    if (taken.size < sourceIdsMax) taken.set(id, content);
    return { status: 'created', warnings };
  };
  return {
    recordBatchTexts: async (texts) => texts.map((text, index) => ({ index, ...judge(text) })),
    tenants: { put: () => Promise.reject(new Error('a dry run creates no tenant')) },
  };
}

function take(text: string, catalogue: Catalogue, nowMs: number) {
  if (Buffer.byteLength(text) > eventBytesMax) return tooLarge;
  const { value, numbersAsText } = parseStrictJson(text);
  return takeEvent(value, {
    nowMs,
    newUuid: (timeMs) => eventUuid(timeMs, randomBytes(10)),
    catalogue,
    masker,
    recordedBy: { kind: 'api_key', id: nilUuid },
    boundTenantId: undefined,
    backdatedMs: backdatedHoursDefault * 3_600_000,
    numbersAsText,
  });
}

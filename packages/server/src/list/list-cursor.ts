import { createHmac, timingSafeEqual } from 'node:crypto';
import { filterKey, type ListQuery } from '@indelible/protocol';
import { AppError } from '../http/problem.ts';

/** The start of a page: after this event (`next`) or before it (`previous`), in list order. */
export interface ListPosition {
  direction: 'next' | 'previous';
  uuid: string;
  /** Only for sort=user. */
  emailKey: string;
  /** Only for sort=sequence: the first sequence not read yet. */
  sequence: number;
}

export type CursorSeal = ReturnType<typeof createCursorSeal>;

/** Writes and reads cursors: opaque, authenticated, bound to tenant, filter and order. */
export function createCursorSeal(key: Uint8Array) {
  const tagOf = (tenantId: string, query: ListQuery, payload: Uint8Array): Buffer => {
    const { filter, sort, order, afterSequence = null } = query;
    const list = JSON.stringify([tenantId, filterKey(filter), sort, order, afterSequence]);
    const mac = createHmac('sha256', key).update(list).update('\n').update(payload);
    return mac.digest().subarray(0, 16);
  };
  return {
    write(tenantId: string, query: ListQuery, position: ListPosition): string {
      const { direction, uuid, emailKey, sequence } = position;
      const payload = Buffer.from(JSON.stringify([direction, uuid, emailKey, sequence]));
      return Buffer.concat([tagOf(tenantId, query, payload), payload]).toString('base64url');
    },

    /** Throws `invalid_cursor` unless this service issued it for exactly this list. */
    read(tenantId: string, query: ListQuery, cursor: string): ListPosition {
      const bytes = Buffer.from(cursor, 'base64url');
      const payload = bytes.subarray(16);
      const genuine =
        bytes.length > 16 &&
        bytes.toString('base64url') === cursor &&
        timingSafeEqual(bytes.subarray(0, 16), tagOf(tenantId, query, payload));
      if (!genuine) {
        const sentence = 'the cursor does not belong to this list; start again without a cursor';
        throw new AppError('invalid_cursor', sentence);
      }
      const [direction, uuid, emailKey, sequence] = JSON.parse(payload.toString());
      return { direction, uuid, emailKey, sequence };
    },
  };
}

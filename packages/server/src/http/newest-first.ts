import { nilUuid } from '@indelible/protocol';
import type { PageRequest } from './keyset-page.ts';

const last = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

/** A page of a list that goes from the newest id down: without a cursor it begins at the top. */
export function newestFirst({ limit, from }: PageRequest): PageRequest {
  return { limit, from: from === nilUuid ? last : from };
}

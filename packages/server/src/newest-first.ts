import type { PageRequest } from './keyset-page.ts';

const first = '00000000-0000-0000-0000-000000000000';
const last = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

/** A page of a list that goes from the newest id down: without a cursor it begins at the top. */
export function newestFirst({ limit, from }: PageRequest): PageRequest {
  return { limit, from: from === first ? last : from };
}

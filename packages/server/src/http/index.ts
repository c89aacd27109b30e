export { acceptedType } from './accepted-type.ts';
export { FairQueue } from './fair-queue.ts';
export {
  answer,
  count,
  countOrNull,
  described,
  emails,
  exact,
  idParams,
  idWith,
  LogParams,
  label,
  named,
  nullable,
  pathPart,
  queryText,
  reason,
  strict,
  time,
  timeOrNull,
  uuid,
} from './field-schemas.ts';
export { filterOfBody } from './filter-body.ts';
export { filterParams, filterSchema, storedFilters } from './filter-schema.ts';
export { isAllowedFrom } from './ip-range.ts';
export { answerPage, PageQuery, pageOf, readPage } from './keyset-page.ts';
export { AppError, invalid, tooSlow, unavailable } from './problem.ts';
export { accepted, readQuery, searchParams } from './query.ts';
export { receivedCall } from './received-call.ts';
export { whenGone } from './tenant-reads.ts';
export { Type } from './type.ts';

export { inOrder } from './branches.store.ts';
export {
  coldCount,
  coldEventsById,
  coldKeys,
  coldPages,
  coldRange,
  coldRows,
} from './cold.store.ts';
export { countEvents, countOrMore } from './count.store.ts';
export {
  allMatching,
  filterConditions,
  lowestShown,
  matching,
  Params,
  shownIn,
  shownSince,
  type Visibility,
} from './filter-sql.store.ts';
export type { FlushObserver } from './flush.ts';
export { eventsById, listEvents } from './list.store.ts';
export type { CutPage, ListedPage, ListedRow } from './listed-row.ts';
export { recordOwnIn } from './own-events.store.ts';
export { isMissingPartition } from './partitions.ts';
export { inOneStatement, portions } from './portions.ts';
export { prepared } from './prepared-statement.ts';
export { bodyLine, proofJson, proveEvent, readBodies } from './proof.ts';
export { FieldError, ListedEvent } from './schemas.ts';
export { listBySequence } from './sequence-list.store.ts';
export {
  ensurePartition,
  erasedSegments,
  eventJson,
  getEvent,
  hasState,
  insertEvents,
  makePartitions,
  openersOf,
  requireVisible,
  type StoredEvent,
  storedColumns,
  storedOpeners,
  visibility,
} from './store.ts';
export { createUuidSource } from './uuid-source.ts';

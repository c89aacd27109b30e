export {
  filterConditions,
  lowestShown,
  Params,
  shownIn,
  shownSince,
  type Visibility,
} from './filter-sql.store.ts';
export type { FlushObserver } from './flush.ts';
export {
  allMatching,
  type CutPage,
  countEvents,
  countOrMore,
  eventsById,
  inOrder,
  type ListedPage,
  listEvents,
  matching,
  prepared,
} from './list.store.ts';
export { recordOwnIn } from './own-events.store.ts';
export { isMissingPartition } from './partitions.ts';
export { inOneStatement, portions } from './portions.ts';
export { bodyLine, type ProofDeps, proofJson, proveEvent, readBodies } from './proof.ts';
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
  type StoredEvent,
  storedColumns,
  storedOpeners,
  visibility,
} from './store.ts';
export { createUuidSource } from './uuid-source.ts';

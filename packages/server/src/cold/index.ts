export {
  type ArchivedBody,
  type ArchivedRow,
  decodedEntryOf,
  entryOf,
  rowOf,
} from './archived-row.ts';
export { changeBytes, coldEvents, coldSource, filesOf, notLate } from './cold-events.store.ts';
export { type Column, eventColumns, identityColumns, type Value } from './columns.ts';
export { quoted, requireDuckDb } from './duckdb.ts';
export { type ColdSettings, coldSettings, openColdSource } from './duckdb-reader.ts';
export { KeyFilter } from './key-filter.ts';
export {
  archiveFolder,
  monthAround,
  monthFolder,
  namesOfStem,
  parseArchiveName,
  partNames,
  tenantFolder,
} from './layout.ts';
export { type PartLimits, type PartPaths, partLimits } from './part.ts';
export { readPart } from './read-part.store.ts';
export {
  type ColdPart,
  type ColdRange,
  partsHolding,
  putColdPart,
  type VerifiedPart,
} from './store.ts';

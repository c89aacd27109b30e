export { listPartitions, listRetired } from './partitions.store.ts';
export { lockTerms, type Owner, readTerms, takeRetentionLock } from './terms.store.ts';

export type { BlockQuery } from './count-block.ts';
export { type BlocksToCount, blocksToCount, countInBlocks } from './count-values.ts';
export { amongWithWords, findWords, idsInNoBlock } from './find-words.ts';
export {
  eraseWords,
  removeAllWords,
  removeExpiredWords,
  wordsAreWholeFrom,
} from './forget-words.ts';
export { type Group, GroupCounts, type KeyValue } from './group-counts.ts';
export { indexWords } from './index-words.ts';
export { wordsProgress } from './store.ts';
export { countBefore } from './time-offsets.ts';

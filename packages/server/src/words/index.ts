export { amongWithWords, findWords } from './find-words.ts';
export { eraseWords, removeAllWords, removeExpiredWords } from './forget-words.ts';
export { indexWords } from './index-words.ts';

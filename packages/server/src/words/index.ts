export { indexWords } from './index-words.ts';

export { invalidKeyIds } from './store.ts';

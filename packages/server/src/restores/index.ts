export { restoreMessages } from './schemas.ts';

export { objectName } from './file/export-file.ts';
export { type ExportRow, getExport } from './store.ts';

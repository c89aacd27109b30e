export { SourceGap } from './schemas.ts';
export { type Gap, listSources, type Source, type SourceCounts } from './store.ts';
export { shownGap } from './tell-sources.ts';

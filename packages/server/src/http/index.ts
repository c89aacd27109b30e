export { acceptedType } from './accepted-type.ts';
export { idParams, LogParams, label, nullable, strict, time, uuid } from './field-schemas.ts';
export { filterParams, filterSchema, storedFilters } from './filter-schema.ts';
export { judgedByHandler } from './http.ts';
export { PageQuery, type PageRequest, Pagination, pageOf, readPage } from './keyset-page.ts';
export { newestFirst } from './newest-first.ts';
export { panelHome, panelPathMax } from './panel-path.ts';
export { AppError, unavailable } from './problem.ts';
export { readParams } from './url-parameters.ts';

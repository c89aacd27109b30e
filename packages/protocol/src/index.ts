/** Everything that server, client, command line and panel share; pure, without dependencies. */

export * from './canonical.ts';
export * from './catalogue.ts';
export * from './catalogue-data.ts';
export * from './commitment.ts';
export * from './entry.ts';
export * from './error-codes.ts';
export * from './event-filter.ts';
export * from './event-id.ts';
export * from './field-problem.ts';
export * from './field-rules.ts';
export * from './filter-body.ts';
export * from './list-query.ts';
export * from './masking.ts';
export * from './merkle.ts';
export * from './merkle-proofs.ts';
export * from './plan.ts';
export type { QueryProblemCode, QueryRefusal } from './query-params.ts';
export * from './state-diff.ts';
export * from './stats-query.ts';
export * from './strict-json.ts';
export * from './tile-paths.ts';
export * from './time-buckets.ts';
export * from './timestamp.ts';
export * from './signed-note.ts';
export * from './checkpoint.ts';
export * from './tlog-proof.ts';

export { candidatesMax, firstClaimed } from './claim.store.ts';
export type { Ended } from './every.ts';
export { type Jobs, queueNames, type RunningJob, TryAgain } from './jobs.ts';
export { LeasedWorker } from './leased-worker.ts';

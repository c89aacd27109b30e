export type { Ended } from './every.ts';
export { type Jobs, type RunningJob, TryAgain } from './jobs.ts';
export { LeasedWorker } from './leased-worker.ts';

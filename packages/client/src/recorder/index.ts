/** A buffered recorder with a spool on disk: recording never waits for the service. */

export { InvalidEventError } from '../delivery/ready-event.ts';
export type { LossReason, Recorder, RecorderOptions, RecorderStats } from './options.ts';
export { createRecorder } from './recorder.ts';

import { onTestFinished } from 'vitest';
import { createRecorder, type RecorderOptions } from '../index.ts';

/** A recorder that is closed with the test, and what it told. */
export function recorderOf(options: RecorderOptions) {
  const told = {
    rejected: [] as unknown[],
    lost: [] as unknown[],
    warnings: [] as string[],
    spooled: 0,
  };
  const recorder = createRecorder({
    onRejected: (event, { code }) => told.rejected.push([event.diff?.changes?.to, code]),
    onLost: (event, why) => told.lost.push([event.diff?.changes?.to, why]),
    onWarning: ({ message }) => told.warnings.push(message),
    onSpooled: () => {
      told.spooled += 1;
    },
    ...options,
  });
  onTestFinished(async () => void (await recorder.close({ timeoutMs: 1 })));
  return { recorder, told };
}

export const countingTo = (last: number) => Array.from({ length: last }, (_, index) => index + 1);

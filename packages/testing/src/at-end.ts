import { afterAll, onTestFinished, TestRunner } from 'vitest';

/**
 * Undoes it when the running test ends, or the file that is loaded; what was made last is undone
 * first. Not in `beforeAll`, in which vitest takes no such hook.
 */
export function atEnd(undo: () => unknown): void {
  const hook = async () => void (await undo());
  if (TestRunner.getCurrentTest()) onTestFinished(hook);
  else afterAll(hook);
}

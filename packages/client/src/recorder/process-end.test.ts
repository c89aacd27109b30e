import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { newFolder } from '@indelible/testing/folders';
import { expect, test } from 'vitest';

const index = JSON.stringify(join(import.meta.dirname, 'index.ts'));

test.each([
  ['process.exit', 'process.exit(0);'],
  ['an uncaught error', "throw new Error('a bug of the host');"],
])('a process that ends by %s says how many events only its memory held', (_, end) => {
  const program = `
    import { createRecorder } from ${index};
    const client = { recordBatchTexts: () => new Promise(() => {}) };
    const recorders = [{ client }, { client, spoolFolder: ${JSON.stringify(newFolder())} }];
    for (const recorder of recorders.map(createRecorder)) {
      for (let each = 0; each < 3; each += 1) recorder.record({});
    }
    ${end}`;
  const { stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
    encoding: 'utf8',
  });
  expect(stderr.match(/^audit recorder: .*$/gm)).toEqual([
    'audit recorder: the process exited with 3 audit events in memory. Set spoolFolder to keep ' +
      'them on disk; or set closeOnExit, and do not end by process.exit.',
  ]);
});

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { servedFolder } from '../testing/served-folder.ts';

/* The service is told to stop while it starts. */

const { folder, start } = servedFolder();

test('a signal during the start, also that of a closed terminal, is obeyed once the start is over, and leaves no database behind', async () => {
  const cli = start([], { DATA_DIR: join(folder, 'cut-off'), LOG_LEVEL: 'info' });
  await expect.poll(() => cli.stderr).toContain('making a database');
  cli.process.kill('SIGHUP');
  expect((await cli.ended()).status).toBe(0);
  const data = join(folder, 'cut-off', 'postgresql', 'data');
  expect(existsSync(join(data, 'PG_VERSION'))).toBe(true);
  expect(existsSync(join(data, 'postmaster.pid'))).toBe(false);
});

/** `indelible serve` as a process, on a data folder of the test file. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { newFolder } from '@indelible/testing/folders';
import { afterAll, afterEach, expect } from 'vitest';
import { RunningCli } from './run-cli.ts';

export function servedFolder() {
  const folder = newFolder();
  const dataDir = join(folder, 'data');
  const env = { DATA_DIR: dataDir, PORT: '0', LOG_LEVEL: 'warn' };
  const running: RunningCli[] = [];

  afterEach(async () => {
    for (const cli of running.splice(0)) {
      cli.process.kill('SIGTERM');
      await cli.ended();
    }
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  /** It ends with the test at the latest. */
  function start(args: string[], more: Record<string, string> = {}): RunningCli {
    const cli = new RunningCli(['serve', ...args], { env: { ...env, ...more }, cwd: folder });
    running.push(cli);
    return cli;
  }

  /** A service that is ready, and where. */
  async function serving(...args: string[]) {
    return ready(start(args));
  }

  async function ready(cli: RunningCli) {
    const where = /http:\/\/127\.0\.0\.1:\d+/;
    await expect.poll(() => where.test(cli.stdout) || cli.process.exitCode !== null).toBe(true);
    const [url = ''] = where.exec(cli.stdout) ?? [];
    expect(url, cli.stderr).not.toBe('');
    return { cli, url };
  }

  return { folder, dataDir, env, start, serving, ready };
}

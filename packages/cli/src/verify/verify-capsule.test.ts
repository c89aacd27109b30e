import { truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { newFolder } from '@indelible/testing/folders';
import { expect, test } from 'vitest';
import { runCli } from '../testing/run-cli.ts';

/* Files that are no capsules; e2e/capsule.test.ts verifies real ones. */

const folder = newFolder();

const verified = async (name: string) => {
  const { status, stderr } = await runCli(['verify', join(folder, name)]);
  return [status, stderr.replace(`${folder}/`, '')];
};

test('a capsule of gigabytes is refused with a sentence, and does not fill the memory', async () => {
  writeFileSync(join(folder, 'large.html'), '');
  truncateSync(join(folder, 'large.html'), 3 * 2 ** 30); // sparse: it takes no room
  const before = process.memoryUsage().rss;
  const message = 'indelible: large.html cannot be read: it is longer than 268435456 bytes\n';
  expect(await verified('large.html')).toEqual([2, message]);
  expect(process.memoryUsage().rss - before).toBeLessThan(400_000_000);
});

test('the largest file that a service ever made is read whole', async () => {
  writeFileSync(join(folder, 'largest.html'), '');
  truncateSync(join(folder, 'largest.html'), 200 * 2 ** 20);
  expect(await verified('largest.html')).toEqual([
    2,
    'indelible: largest.html is not an evidence capsule\n',
  ]);
});

test('a file that is absent, or no capsule, is refused with a sentence', async () => {
  writeFileSync(join(folder, 'page.html'), '<html></html>');
  const [status, message] = await verified('absent.html');
  expect([status, message]).toEqual([2, expect.stringContaining('absent.html cannot be read: ')]);
  expect(await verified('page.html')).toEqual([
    2,
    'indelible: page.html is not an evidence capsule\n',
  ]);
});

import { execFile } from 'node:child_process';
import { mkdir, readdir, rmdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { promisify } from 'node:util';

const root = join(import.meta.dirname, '..');
const page = join(root, 'packages/panel/dist/index.html');
const lock = join(root, '.cache/panel-build.lock');
const sources = [
  'packages/panel/src',
  'packages/panel/build',
  'packages/panel/index.html',
  'packages/panel/vite.config.ts',
  'packages/client/src',
  'packages/protocol/src',
  'locales',
];
/** No build takes this long: who holds the lock for longer has died. */
const lockMaxMs = 120_000;

/**
 * Runs `npm run build` when the panel is not built,
 * or its sources are newer; once, however many ask.
 */
export async function builtPanel(): Promise<void> {
  if (await isFresh()) return;
  await takeLock();
  try {
    // The former holder of the lock may have built it.
    if (!(await isFresh())) await promisify(execFile)('npm', ['run', 'build'], { cwd: root });
  } finally {
    await rmdir(lock);
  }
}

async function isFresh(): Promise<boolean> {
  const builtMs = await modifiedMs(page);
  const newest = await Promise.all(sources.map((source) => newestMs(join(root, source))));
  return builtMs > Math.max(...newest);
}

async function newestMs(path: string): Promise<number> {
  if ((await stat(path)).isFile()) return modifiedMs(path);
  const entries = await readdir(path, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile() && !entry.name.includes('.test.'));
  const times = files.map(({ parentPath, name }) => modifiedMs(join(parentPath, name)));
  return Math.max(0, ...(await Promise.all(times)));
}

const modifiedMs = (path: string) =>
  stat(path).then(
    ({ mtimeMs }) => mtimeMs,
    () => 0,
  );

async function takeLock(): Promise<void> {
  await mkdir(join(root, '.cache'), { recursive: true });
  for (;;) {
    const taken = await mkdir(lock).then(
      () => true,
      () => false,
    );
    if (taken) return;
    if (Date.now() - (await modifiedMs(lock)) > lockMaxMs) await rmdir(lock).catch(() => {});
    await setTimeout(200);
  }
}

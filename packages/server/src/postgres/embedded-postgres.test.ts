import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  rmdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { serverPid } from '@indelible/testing/embedded-postgres-service';
import { newFolder } from '@indelible/testing/folders';
import {
  ask,
  postgresFolders,
  recall,
  remember,
  systemFolder,
} from '@indelible/testing/postgres-folders';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { chooseAccount } from './embedded/account.ts';
import { locatePackage } from './embedded/binaries.ts';
import {
  type EmbeddedPostgres,
  startEmbeddedPostgres,
  visitEmbeddedPostgres,
} from './embedded-postgres.ts';

const ownUid = process.getuid?.();
const isRoot = ownUid === 0;
const folders = postgresFolders();

describe('a data folder', () => {
  test('keeps its data over a restart, whatever characters its path has', async () => {
    const folder = join(folders().scratch, `a, "b" 'c' %20+ü`);
    const first = await folders().start(folder);
    await ask(first.ownerUrl, remember);
    await first.stop();
    expect(serverPid(folder)).toBeUndefined();
    const second = await folders().start(folder);
    expect(await ask(second.ownerUrl, recall)).toEqual([42]);
    expect([first.takenOver, second.takenOver]).toEqual([false, false]);
    expect(second.ownerUrl).toBe(first.ownerUrl);
  });

  test('works below a path too long for a socket, which then goes to a short folder', async () => {
    const folder = join(folders().scratch, 'long'.repeat(30));
    await folders().startedBefore(folder);
    const server = await folders().start(folder);
    const { database, ...found } = new pg.Client({ connectionString: server.ownerUrl });
    expect(database).toBe('indelible');
    expect(dirname(found.host)).toBe(tmpdir());
    expect(lstatSync(found.host).mode & 0o7777).toBe(0o700);
    expect(await ask(server.ownerUrl, 'SELECT 1')).toEqual([1]);
    await server.stop();
    expect(existsSync(found.host)).toBe(false);
  });

  test('that cannot be written is named', async () => {
    writeFileSync(join(folders().scratch, 'file'), '');
    await expect(folders().start(join(folders().scratch, 'file', 'data'))).rejects.toThrow(
      `The data folder ${join(folders().scratch, 'file', 'data')} cannot be written`,
    );
  });

  test('with a cluster of another major version is refused, and left as it is', async () => {
    await folders().startedBefore();
    const version = join(folders().dataDir, 'postgresql', 'data', 'PG_VERSION');
    writeFileSync(version, '17\n');
    await expect(folders().start()).rejects.toThrow(
      /made by PostgreSQL 17, and this release runs 18/,
    );
    writeFileSync(version, '18\n');
    expect((await folders().start()).takenOver).toBe(false);
  });
});

test('a start while the owner of the data folder stops its server waits, and starts the server again', async () => {
  await folders().startedBefore();
  for (let isRefused = true; isRefused; ) {
    const first = await folders().start();
    const second = folders()
      .start()
      .catch((error: Error) => error);
    const others = `SELECT count(*)::int FROM pg_stat_activity
      WHERE datname = 'postgres' AND backend_type = 'client backend'`;
    const asked = async () => Number(await ask(first.ownerUrl, others));
    await expect.poll(asked, { interval: 5 }).toBeGreaterThan(1);
    await first.stop();
    const outcome = await second;
    // On a slow machine the second start may give up before the first server stops.
    isRefused = outcome instanceof Error && outcome.message.includes('in use by process');
    if (!isRefused) expect(outcome).toMatchObject({ takenOver: false });
  }
});

test('a visit of a server that does not run ends as it began, and leaves it to an owner that starts meanwhile', async () => {
  await folders().startedBefore();
  const { dataDir } = folders();
  await visitEmbeddedPostgres(dataDir, (url) => ask(url, 'SELECT 1'));
  expect(serverPid(dataDir)).toBeUndefined();
  let owner: EmbeddedPostgres | undefined;
  await visitEmbeddedPostgres(dataDir, async () => {
    owner = await folders().start();
  });
  expect(owner?.takenOver).toBe(true);
  expect(await ask(owner?.ownerUrl ?? '', 'SELECT 1')).toEqual([1]);
  const visiting = visitEmbeddedPostgres(dataDir, (url) => ask(url, 'SELECT 2'));
  expect(await visiting).toEqual([2]);
  await owner?.stop();
  expect(serverPid(dataDir)).toBeUndefined();
});

test('a start at the moment of a visit is not refused', async () => {
  await folders().startedBefore();
  const { dataDir } = folders();
  const [seen, owner] = await Promise.all([
    visitEmbeddedPostgres(dataDir, (url) => ask(url, 'SELECT 1')),
    folders().start(),
  ]);
  expect(seen).toEqual([1]);
  expect(await ask(owner.ownerUrl, 'SELECT 1')).toEqual([1]);
});

test('a password file open to others, or wrong, stops the start with a sentence', async () => {
  await folders().startedBefore();
  const file = join(folders().dataDir, 'postgresql-admin.password');
  chmodSync(file, 0o644);
  await expect(folders().start()).rejects.toThrow(`${file} is open to others (mode 0644)`);
  chmodSync(file, 0o600);
  writeFileSync(file, 'another\n');
  await expect(folders().start()).rejects.toThrow(
    `refuses the password kept for it in ${folders().dataDir}`,
  );
  await expect.poll(() => serverPid(folders().dataDir), { interval: 5 }).toBeUndefined();
  rmSync(file);
  await expect(folders().start()).rejects.toThrow(file);
});

describe('a running server', () => {
  let home: string;
  let server: EmbeddedPostgres;
  beforeAll(async () => {
    home = join(newFolder(), 'data');
    await folders().startedBefore(home);
    server = await startEmbeddedPostgres({ dataDir: home, log: () => {} });
  });
  afterAll(async () => {
    await server.stop();
    rmSync(dirname(home), { recursive: true });
  });

  test('requires the password, and does not listen on the network', async () => {
    const wrong = server.ownerUrl.replace(/:[^:@]+@/, ':wrong@');
    await expect(ask(wrong, 'SELECT 1')).rejects.toThrow('password authentication failed');
    await expect(ask(wrong.replace('_admin', '_app'), 'SELECT 1')).rejects.toThrow('password');
    const rules = 'SELECT DISTINCT auth_method FROM pg_hba_file_rules';
    expect(await ask(server.ownerUrl, rules)).toEqual(['scram-sha-256']);
    expect(await ask(server.ownerUrl, 'SHOW listen_addresses')).toEqual(['']);
  });

  test('gives the serving login no privilege of its own', async () => {
    const rights = `
      SELECT rolsuper OR rolcreaterole OR rolcreatedb OR rolreplication OR rolbypassrls
      FROM pg_roles WHERE rolname = current_user`;
    expect(await ask(server.servingUrl, 'SELECT current_user')).toEqual(['indelible_app']);
    expect(await ask(server.servingUrl, rights)).toEqual([false]);
    await expect(ask(server.servingUrl, remember)).rejects.toThrow('permission denied for schema');
    const maintenance = server.servingUrl.replace('/indelible?', '/postgres?');
    await expect(ask(maintenance, 'SELECT 1')).rejects.toThrow('permission denied for database');
  });

  test('keeps passwords, cluster, socket and log to their owner', () => {
    const modeOf = (path: string) => (statSync(join(home, path)).mode & 0o777).toString(8);
    expect(modeOf('postgresql-admin.password')).toBe('600');
    expect(modeOf('postgresql-app.password')).toBe('600');
    expect(modeOf('postgresql/data')).toBe('700');
    expect(modeOf('postgresql/socket')).toBe('700');
    expect(modeOf('postgresql/postgres.log')).toBe('600');
  });

  test('writes no row content into its log', async () => {
    await ask(server.ownerUrl, 'CREATE TABLE once (word text PRIMARY KEY)');
    const twice = `INSERT INTO once VALUES ('confidential'), ('confidential')`;
    await expect(ask(server.ownerUrl, twice)).rejects.toThrow('duplicate key');
    const log = readFileSync(join(home, 'postgresql', 'postgres.log'), 'utf8');
    expect(log).toContain('duplicate key');
    expect(log).not.toContain('confidential');
  });

  test('is out of reach of the terminal’s Ctrl-C, and never runs as root', () => {
    const pid = String(serverPid(home));
    const [session, uid] = execFileSync('ps', ['-o', 'sid=,uid=', '-p', pid], { encoding: 'utf8' })
      .trim()
      .split(/\s+/);
    expect(session).toBe(pid);
    const expected = isRoot ? chooseAccount(readFileSync('/etc/passwd', 'utf8')).uid : ownUid;
    expect(Number(uid)).toBe(expected);
  });

  test('is durable by default, checks its pages, sorts by code point, and has short segments of WAL', async () => {
    for (const setting of ['fsync', 'synchronous_commit', 'full_page_writes', 'data_checksums']) {
      expect(await ask(server.ownerUrl, `SHOW ${setting}`)).toEqual(['on']);
    }
    expect(await ask(server.ownerUrl, 'SHOW server_encoding')).toEqual(['UTF8']);
    expect(await ask(server.ownerUrl, 'SHOW wal_segment_size')).toEqual(['4MB']);
    const sorted = `SELECT w FROM (VALUES ('a'), ('B'), ('ä')) AS words(w) ORDER BY w`;
    expect(await ask(server.ownerUrl, sorted)).toEqual(['B', 'a', 'ä']);
    expect(await ask(server.ownerUrl, `SELECT upper('ä')`)).toEqual(['Ä']);
  });
});

// What a normal user meets is everything above, when he runs it; root can also be one.
if (isRoot) {
  describe('root', () => {
    const passwd = readFileSync('/etc/passwd', 'utf8');
    const withoutPostgres = passwd.replace(/^postgres:.*\n/m, '');
    const account = chooseAccount(withoutPostgres);
    const ownerOf = (folder: string) => statSync(join(folder, 'postgresql', 'data')).uid;

    test('PostgreSQL runs under the account nobody where no account postgres exists, and stays with that', async () => {
      const file = join(folders().scratch, 'passwd');
      writeFileSync(file, withoutPostgres);
      const inside = `mount --bind ${file} /etc/passwd && exec "$@"`;
      const shell = `exec unshare --mount /bin/sh -c '${inside}' sh "$@"`;
      const service = await folders().launch({ shell }).started();
      expect([service.error, ownerOf(folders().dataDir)]).toEqual([undefined, account.uid]);
      await ask(service.ownerUrl, remember);
      expect(await service.end('SIGTERM')).toBe(0);
      expect(await ask((await folders().start()).ownerUrl, recall)).toEqual([42]);
    });

    test('below a 0700 folder uses the system folder, and finds its data there again', async () => {
      const closed = join(folders().scratch, 'closed');
      mkdirSync(closed, { mode: 0o700 });
      const binariesRoot = join(closed, 'package');
      execFileSync('cp', ['-a', locatePackage(), binariesRoot]);
      const { version } = JSON.parse(readFileSync(join(binariesRoot, 'package.json'), 'utf8'));
      const copy = join(systemFolder, `postgresql-${version}`);
      if (!existsSync(copy)) folders().systemPaths.push(copy);
      const folder = join(closed, 'data');
      const launched = async () => {
        const service = await folders().launch({ dataDir: folder, binariesRoot }).started();
        const home = readlinkSync(join(folder, 'postgresql'));
        if (!folders().systemPaths.includes(home)) folders().systemPaths.push(home);
        return { service, home };
      };

      const { service: first, home } = await launched();
      expect([first.error, dirname(home)]).toEqual([undefined, systemFolder]);
      expect(first.logged.join('\n')).toContain(`the database goes to ${home}`);
      expect(readlinkSync(`/proc/${serverPid(folder)}/exe`)).toBe(join(copy, 'bin', 'postgres'));
      await ask(first.ownerUrl, remember);
      expect(await first.end('SIGTERM')).toBe(0);

      const { service: second } = await launched();
      expect(await ask(second.ownerUrl, recall)).toEqual([42]);
      expect(await second.end('SIGTERM')).toBe(0);

      rmSync(folder, { recursive: true });
      const { service: afresh } = await launched();
      await expect(ask(afresh.ownerUrl, recall)).rejects.toThrow('does not exist');
      expect(existsSync(join(home, 'data', 'PG_VERSION'))).toBe(true);
    });

    test('is told when a database that was reachable no longer is', async () => {
      await folders().startedBefore();
      await (await folders().start()).stop();
      chmodSync(folders().scratch, 0o700);
      await expect(folders().start()).rejects.toThrow(/cannot reach .+\(chmod o\+x\)/);
      expect(lstatSync(join(folders().dataDir, 'postgresql')).isDirectory()).toBe(true);
    });

    test('refuses a folder that another account planted for the socket', async () => {
      const folder = join(folders().scratch, 'long'.repeat(30));
      await folders().startedBefore(folder);
      const server = await folders().start(folder);
      const planted = new pg.Client({ connectionString: server.ownerUrl }).host;
      await server.stop();
      mkdirSync(planted, { mode: 0o700 });
      try {
        chownSync(planted, account.uid + 1, account.gid);
        await expect(folders().start(folder)).rejects.toThrow(`${planted} must be a folder of uid`);
        rmdirSync(planted);
        symlinkSync(folders().scratch, planted);
        await expect(folders().start(folder)).rejects.toThrow(`${planted} must be a folder of uid`);
      } finally {
        rmSync(planted, { recursive: true });
      }
      expect((await folders().start(folder)).takenOver).toBe(false);
    });
  });
}

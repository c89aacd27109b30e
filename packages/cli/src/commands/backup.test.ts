import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { closeSync, openSync, readdirSync, rmSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { uuidFromEventId } from '@indelible/protocol';
import { makeDataDir, newFolder } from '@indelible/testing/folders';
import { expectLogIntact } from '@indelible/testing/intact';
import { RunningService } from '@indelible/testing/running-service';
import { eventOf, platformKey } from '@indelible/testing/service';
import pg from 'pg';
import { afterAll, afterEach, expect, test } from 'vitest';
import { runningServerUrl } from '../../../server/src/postgres/embedded/running-server.ts';
import { runCli } from '../testing/run-cli.ts';

/* The drill of docs/operations/backups.md; each test goes on from the one before. */

const scratch = newFolder();
const folders = { live: join(scratch, 'live'), backup: join(scratch, 'backup') };
const tenantId = randomUUID();
const services: RunningService[] = [];

async function serve(dataDir: string): Promise<RunningService> {
  const service = new RunningService({ DATA_DIR: dataDir });
  services.push(service);
  return service.started();
}

afterEach(async () => {
  for (const service of services.splice(0)) await service.end('SIGTERM');
});
afterAll(() => rmSync(scratch, { recursive: true, maxRetries: 10 }));

const inFolder = (dataDir: string, ...args: string[]) =>
  runCli(args, { env: { DATA_DIR: dataDir } });

async function record(service: RunningService): Promise<string> {
  const body = eventOf({ tenantId });
  const answer = await service.call({ method: 'POST', path: '/api/audit-logs', body });
  expect(answer.status).toBe(201);
  return answer.body.id;
}

/** The id in the form that `idsIn` gives. */
const hexOf = (id: string) => uuidFromEventId(id)?.replaceAll('-', '') ?? '';

/** The log as it stands, and that it is whole. */
async function idsIn(dataDir: string): Promise<Set<string>> {
  const owner = new pg.Client({
    connectionString: runningServerUrl(dataDir, 'owner') ?? '',
    options: '-c search_path=indelible',
  });
  await owner.connect();
  try {
    await expectLogIntact({ owner }, tenantId);
    const { rows } = await owner.query('SELECT id FROM audit_events WHERE tenant_id = $1', [
      tenantId,
    ]);
    return new Set(rows.map(({ id }) => id.replaceAll('-', '')));
  } finally {
    await owner.end();
  }
}

const readiness = async (service: RunningService) =>
  (await service.call({ path: '/readyz', key: null })).status;

/** A proof signs a checkpoint, so that the object store has a round more. */
async function publish(service: RunningService, id: string): Promise<void> {
  const headers = { 'x-tenant-id': tenantId, 'x-access-reason': 'a%20drill' };
  const answer = await fetch(`${service.url}/api/audit-logs/${id}/proof`, {
    headers: { authorization: `Bearer ${service.key}`, ...headers },
  });
  expect(answer.status).toBe(200);
}

test('a backup that is made under load restores on another machine, and the guard accepts it', async () => {
  await makeDataDir(folders.live);
  const service = await serve(folders.live);
  const body = { name: 'Acme', plan: 'Enterprise' };
  await service.call({ method: 'PUT', path: `/api/tenants/${tenantId}`, body });
  const before: string[] = [];
  for (let n = 0; n < 20; n++) before.push(hexOf(await record(service)));
  let isDone = false;
  const backup = inFolder(folders.live, 'backup', folders.backup).finally(() => {
    isDone = true;
  });
  let recorded = 0;
  while (!isDone) {
    const id = await record(service);
    if (recorded++ % 10 === 0) await publish(service, id);
  }
  const { status, stdout, stderr } = await backup;
  expect([status, stdout, stderr]).toEqual([0, `the backup is in ${folders.backup}\n`, '']);
  expect(recorded, 'recording goes on meanwhile').toBeGreaterThan(0);
  await publish(service, await record(service));
  expect(await service.end('SIGTERM')).toBe(0);

  const elsewhere = join(scratch, 'elsewhere');
  const restored = await inFolder(elsewhere, 'restore-backup', folders.backup, '--json');
  expect(JSON.parse(restored.stdout)).toMatchObject({ dataDir: elsewhere, objects: true });
  const other = await serve(elsewhere);
  expect(await readiness(other)).toBe(200);
  const ids = await idsIn(elsewhere);
  // Everything that was acknowledged before the backup began.
  expect([...ids]).toEqual(expect.arrayContaining(before));
  const next = await record(other);
  await publish(other, next);
  const found = await idsIn(elsewhere);
  expect(found.size).toBeGreaterThan(ids.size);
  expect(other.log).toBe('');
});

test('a database that is older than its objects is stopped by the guard', async () => {
  rmSync(join(folders.live, 'postgresql'), { recursive: true });
  const { stdout } = await inFolder(folders.live, 'restore-backup', folders.backup, '--json');
  expect(JSON.parse(stdout)).toMatchObject({ objects: false });
  const stopped = await serve(folders.live);
  expect(await readiness(stopped)).toBe(503);
  expect(stopped.log).toContain('restored from an older backup');
});

test('a backup of a service that is stopped is the same, and nothing is ever overwritten', async () => {
  const second = join(scratch, 'second');
  expect((await inFolder(folders.live, 'backup', second)).status).toBe(0);
  const again = await inFolder(folders.live, 'backup', second);
  expect([again.status, again.stderr]).toEqual([1, expect.stringContaining('exists')]);
  const onto = await inFolder(folders.live, 'restore-backup', second);
  expect([onto.status, onto.stderr]).toEqual([1, expect.stringContaining('move ')]);
  const none = await inFolder(join(scratch, 'new'), 'restore-backup', folders.live);
  expect([none.status, none.stderr]).toEqual([1, expect.stringContaining('is not a backup')]);
  const env = { DATABASE_URL: 'postgres://app@127.0.0.1/a', PLATFORM_API_KEY: platformKey };
  const own = await runCli(['backup', join(scratch, 'third')], { env });
  expect([own.status, own.stderr]).toEqual([1, expect.stringContaining('its own tools')]);
});

test('a restore that ended midway is completed by the next one', async () => {
  const large = join(folders.backup, 'objects', 'large');
  closeSync(openSync(large, 'w'));
  truncateSync(large, 24 * 2 ** 20); // more than any file of the cluster
  const dataDir = join(scratch, 'twice');
  const main = join(import.meta.dirname, '..', 'main.ts');
  const cut = spawnSync(
    'bash',
    [
      '-c',
      'ulimit -f 20480; exec "$@"',
      '',
      process.execPath,
      main,
      'restore-backup',
      folders.backup,
    ],
    { env: { ...process.env, DATA_DIR: dataDir }, encoding: 'utf8' },
  );
  expect([cut.status, cut.stderr]).toEqual([
    1,
    expect.stringContaining('backup/objects/large to '),
  ]);
  const { stdout } = await inFolder(dataDir, 'restore-backup', folders.backup, '--json');
  expect(JSON.parse(stdout)).toMatchObject({ objects: true });
  const files = (folder: string) => readdirSync(folder, { recursive: true }).sort();
  expect(files(join(dataDir, 'objects'))).toEqual(files(join(folders.backup, 'objects')));
});

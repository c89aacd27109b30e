import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { emptyDatabase } from '@indelible/testing/empty-database';
import { expectLogIntact } from '@indelible/testing/intact';
import { RunningService } from '@indelible/testing/running-service';
import { eventOf, platformKey } from '@indelible/testing/service';
import { expect, onTestFinished, test } from 'vitest';
import { migrateDatabase } from '../main.ts';

/* What docs/operations/upgrades.md says, with the code of a former commit. */

const root = join(import.meta.dirname, '../../../..');
const run = promisify(execFile);
const git = async (...args: string[]) => (await run('git', args, { cwd: root })).stdout.trim();

/** The commit before the last two migrations; null in a checkout that has no history that far. */
async function formerCommit(): Promise<string | null> {
  const folder = 'packages/server/migrations';
  const migrations = readdirSync(join(root, folder)).filter((name) => name.endsWith('.sql'));
  const added = `${folder}/${migrations.sort().at(-2)}`;
  const commit = await git('log', '--diff-filter=A', '-1', '--format=%H', '--', added);
  return git('rev-parse', '--verify', '--quiet', `${commit}^`).catch(() => null);
}

/** The former code, below the checkout, so that packages are found. */
async function formerRelease(commit: string): Promise<string> {
  const folder = join(root, '.cache', `former-${process.pid}`);
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  mkdirSync(join(folder, 'node_modules/@indelible'), { recursive: true });
  const archive = join(folder, 'checkout.tar');
  await git('archive', '-o', archive, commit);
  await run('tar', ['-xf', archive, '-C', folder]);
  for (const name of readdirSync(join(folder, 'packages'))) {
    symlinkSync(join(folder, 'packages', name), join(folder, 'node_modules/@indelible', name));
  }
  return join(folder, 'packages');
}

/** Records through each of the services in turn until it is stopped; every answer must be 201. */
function load(tenantId: string) {
  const services: RunningService[] = [];
  const statuses = new Map<number, number>();
  let isOver = false;
  const worker = async () => {
    for (let n = 0; !isOver; n++) {
      const service = services[n % services.length];
      if (service === undefined) throw new Error('no service runs');
      const body = eventOf({ tenantId });
      const { status } = await service.call({ method: 'POST', path: '/api/audit-logs', body });
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
  };
  const recorded = () => statuses.get(201) ?? 0;
  return {
    services,
    start: () => Promise.all([worker(), worker()]),
    /** Waits for so many events more. */
    more: async (count: number) => {
      const target = recorded() + count;
      await expect.poll(recorded, { timeout: 60_000 }).toBeGreaterThanOrEqual(target);
    },
    end: () => {
      isOver = true;
    },
    statuses,
  };
}

test('a release from two schema versions ago records through an upgrade, beside the new release, and after a downgrade', async () => {
  const former = await formerCommit();
  if (former === null) {
    // A shallow checkout does not have that release, and is the only one that may lack it.
    expect(await git('rev-parse', '--is-shallow-repository')).toBe('true');
    return;
  }
  const packages = await formerRelease(former);
  const { owner, env: urls } = await emptyDatabase();
  const dataDir = mkdtempSync(join(tmpdir(), 'indelible-upgrade-'));
  const env = { ...urls, DATA_DIR: dataDir, PLATFORM_API_KEY: platformKey };
  await run(process.execPath, [join(packages, 'cli/src/main.ts'), 'migrate'], {
    env,
    cwd: packages,
  });
  const started: RunningService[] = [];
  onTestFinished(async () => {
    for (const service of started) await service.end('SIGKILL');
    rmSync(dataDir, { recursive: true, force: true });
  });
  const start = async (script?: string) => {
    const service = new RunningService(env, script);
    started.push(service);
    return service.started();
  };
  const formerScript = join(packages, 'server/src/testing/service-process.ts');

  const old = await start(formerScript);
  const tenantId = randomUUID();
  const body = { name: 'Acme', plan: 'Enterprise' };
  const made = await old.call({ method: 'PUT', path: `/api/tenants/${tenantId}`, body });
  expect(made.status).toBe(201);
  const traffic = load(tenantId);
  traffic.services.push(old);
  const running = traffic.start();
  await traffic.more(50);
  expect(await migrateDatabase(env)).not.toEqual([]);
  await traffic.more(50);
  const current = await start();
  traffic.services.push(current);
  await traffic.more(50);
  traffic.services.shift();
  await traffic.more(10); // no call to the old one is under way any more
  expect(await old.end('SIGTERM')).toBe(0);
  await traffic.more(50);

  const again = await start(formerScript);
  traffic.services.push(again);
  await traffic.more(50);
  traffic.services.shift();
  await traffic.more(10);
  expect(await current.end('SIGTERM')).toBe(0);
  await traffic.more(50);
  traffic.end();
  await running;
  expect([...traffic.statuses.keys()]).toEqual([201]);
  await expectLogIntact({ owner }, tenantId);
  const { rows } = await owner.query(
    `SELECT count(*)::int AS count FROM audit_events WHERE tenant_id = $1 AND recorded_by_kind = 'api_key'`,
    [tenantId],
  );
  expect(rows).toEqual([{ count: traffic.statuses.get(201) }]);
}, 180_000);

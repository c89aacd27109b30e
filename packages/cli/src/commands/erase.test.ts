import { existsSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createClient } from '@indelible/client';
import { canonicalize, formatHex, segmentHash, segmentNames } from '@indelible/protocol';
import { envOf } from '@indelible/testing/archived';
import { expectLogIntact } from '@indelible/testing/intact';
import { eventOf, platformKey } from '@indelible/testing/service';
import { expect, test } from 'vitest';
import { exportBundle } from '../bundle/export-bundle.ts';
import { bundleOf, verifiedBundle } from '../testing/bundle-of.ts';
import { runCli } from '../testing/run-cli.ts';
import { signingNothing, verifiedService } from '../testing/verified-service.ts';
import { sha } from '../verify/hashing.ts';
import { noProgress } from '../verify/log-source.ts';
import { reportText } from '../verify/report-text.ts';

const verified = await verifiedService();

const email = 'person@example.com';
const actor = { id: '11111111-2222-4333-8444-555555555555', email, role: 'admin' };
const by = ['--reason', 'ticket 4711', '--operator-email', 'olga@operators.example', '--yes'];

function erase(...args: string[]) {
  const env = envOf(verified.service);
  return runCli(['erase', '--tenant', verified.tenant.id, ...args], { env });
}

async function record(changes: Record<string, unknown>): Promise<string> {
  const { service, tenant } = verified;
  const { body } = await service.call({
    method: 'POST',
    url: '/api/audit-logs',
    key: tenant.key,
    body: eventOf({ actor, ...changes }),
  });
  await service.app.checkpoints.tick();
  return body.id;
}

test('a run without --yes shows which events would go and which would stay, and removes nothing', async () => {
  const { service, tenant } = verified;
  await record({});
  await record({ reason: `asked by ${email}` });
  const others = { id: '22222222-2222-4333-8444-555555555555', role: 'admin' };
  await record({ actor: others, resource: { type: 'agent', id: actor.id } });
  await record({ actor: others, targets: [{ type: 'agent', id: actor.id }] });
  await record({ actor: others, metadata: { for: email } });
  await record({ actor: others, resource: { type: 'user', externalId: email, name: email } });
  // Its identity is erased too, so it is not kept.
  await record({ actor: others, onBehalfOf: [actor], resource: { type: 'agent', id: actor.id } });
  const { status, stdout } = await erase('--actor', 'Person@example.com');
  expect(status).toBe(0);
  expect(stdout).toContain('kept: 3 events of other actors whose resource or target is');
  expect(stdout).toContain(`actor ${actor.id}: identity of 3 events`);
  expect(stdout).toContain('kept: 2 events with an address in diff, reason, states or context');
  expect(stdout).toContain('Nothing was erased');
  const { body } = await service.call({ url: `/api/audit-logs?user=${email}`, key: tenant.key });
  expect(body.data).toHaveLength(2);
});

test('a log and a bundle with erased segments verify', async () => {
  const id = await record({ before: { pin: '1234' }, after: { pin: '5678' } });
  expect(await erase('--actor', email, ...by)).toMatchObject({ status: 0 });
  const secret = await erase('--event', id, '--segment', 'state', '--json', ...by);
  expect(JSON.parse(secret.stdout)).toMatchObject({
    done: true,
    erasures: [{ segment: 'state', events: 1 }],
  });
  // Also before a checkpoint covers the record of the erasure.
  expect(await verified.verify({}, 'early')).toMatchObject({ result: 'intact' });
  await verified.service.app.checkpoints.tick();
  const report = await verified.verify();
  expect(report.findings.kept).toEqual([]);
  expect(report.checked.bodies).toMatchObject({
    withheld: { identity: 0, state: 0 },
    erased: { identity: { events: 4, records: [expect.any(Number)] }, state: { events: 1 } },
  });
  expect(reportText(report)).toMatch(
    /4 of them with their identity erased, as recorded at sequence \d+/,
  );
  expect(report).toMatchObject({ result: 'intact' });
  // Records keep the state that explains what is gone, also where states are withheld.
  for (const withheld of [[], ['state' as const]]) {
    const bundle = await verifiedBundle(await bundleOf(verified, withheld));
    expect(bundle).toMatchObject({ result: 'intact', findings: { count: 0 } });
  }
  await expectLogIntact(verified.service, verified.tenant.id);
});

test('an export that meets an erasure which its checkpoint does not reach is begun anew', async () => {
  const person = { ...actor, id: '88888888-2222-4333-8444-555555555555', email: 'eve@example.com' };
  await record({ actor: person });
  const folder = join(verified.folder, 'erased-meanwhile');
  const options = { tenantId: verified.tenant.id, folder, withhold: [], progress: noProgress };
  // Cut off when the checkpoint was there, before any event.
  const cutOff: typeof fetch = (url, init) =>
    String(url).includes('/events') ? Promise.reject(new Error('cut off')) : fetch(url, init);
  const { id: tenantId, key } = verified.tenant;
  const client = (fetch: typeof globalThis.fetch) =>
    createClient({ url: verified.url, key, tenantId, attempts: 1, fetch });
  await expect(exportBundle(client(cutOff), options)).rejects.toThrow();
  expect(await erase('--actor', person.id, ...by)).toMatchObject({ status: 0 });
  await expect(exportBundle(client(fetch), options)).rejects.toThrow(
    /erased since this export began; remove .*erased-meanwhile\.part/,
  );
  rmSync(`${folder}.part`, { recursive: true });
  await exportBundle(client(fetch), options);
  expect(await verifiedBundle(folder)).toMatchObject({ result: 'intact' });
});

test('a segment that is emptied without a record of the log is found', async () => {
  const { service, tenant } = verified;
  const id = '99999999-2222-4333-8444-555555555555';
  const body = eventOf({ actor: { ...actor, id } });
  await service.call({ method: 'POST', url: '/api/audit-logs', key: tenant.key, body });
  // An attacker who can change the table knows the salt, and gives the right hash.
  const { rows } = await service.owner.query(
    'SELECT actor_email, actor_ip, actor_user_agent, resource_name, salts FROM audit_events WHERE actor_id = $1',
    [id],
  );
  const { actor_email: email, actor_ip: ip, actor_user_agent: userAgent } = rows[0];
  const text = canonicalize({
    actor: { email, ip, userAgent },
    resource: { name: rows[0].resource_name },
  });
  const identity = segmentNames.indexOf('identity');
  const hash = segmentHash(sha, identity, rows[0].salts.subarray(32, 48), text);
  await service.owner.query(
    `UPDATE audit_events SET actor_email = NULL, actor_email_key = '', actor_ip = NULL,
       actor_user_agent = NULL, resource_name = NULL, erased = json_build_object('identity', $2::text)
     WHERE tenant_id = $1 AND actor_id = $3`,
    [tenant.id, formatHex(hash), id],
  );
  // As long as no signature covers the event, and then.
  for (const of of [{ fetch: signingNothing }, {}]) {
    const report = await verified.verify(of, 'hidden');
    expect(report.result).toBe('damaged');
    expect(report.findings.byCode).toEqual({ undeclared_withholding: 1 });
    expect(report.checked.newer !== undefined).toBe('fetch' in of);
  }
  const bundle = await verifiedBundle(await bundleOf(verified));
  expect(bundle.findings.byCode).toEqual({ undeclared_withholding: 1 });
  const { rowCount } = await service.owner.query(
    `UPDATE audit_events SET actor_email = $2, actor_email_key = $2, actor_ip = $3, actor_user_agent = $4,
       resource_name = $5, erased = NULL WHERE actor_id = $1`,
    [id, email, ip, userAgent, rows[0].resource_name],
  );
  expect(rowCount).toBe(1);
});

test('the command says in a sentence what it cannot do', async () => {
  const usage = [
    ['--actor', email, '--bundle', 'x'],
    ['--actor', email, '--yes', '--reason', 'x', '--operator-email', 'nobody'],
    [
      ...['--actor', email, '--yes', '--reason', ' \u200b', '--operator-email'],
      'olga@operators.example',
    ],
    ['--actor', email, '--yes', '--reason', 'a\nb', '--operator-email', 'olga@operators.example'],
    ['--bundle', tmpdir()],
    ['--bundle', '/nonexistent', '--yes'],
  ];
  for (const args of usage) expect([args, (await erase(...args)).status]).toEqual([args, 2]);
  const unknown = await erase('--actor', 'unknown@example.com');
  expect(unknown.status).toBe(1);
  expect(unknown.stderr).toContain('no event of the tenant has an identity');
});

test('a tenant leaves with its bundle, and is given a certificate', async () => {
  const { service, tenant } = verified;
  await service.app.checkpoints.tick();
  const bundle = await bundleOf(verified);
  expect(await erase('--bundle', bundle)).toMatchObject({
    status: 0,
    stdout: expect.stringContaining('Nothing was erased'),
  });
  const { status, stdout, stderr } = await erase('--bundle', bundle, ...by);
  expect([status, stderr.includes('indelible:')]).toEqual([0, false]);
  expect(stdout).toContain('Certificate of offboarding');
  const certificate = JSON.parse(readFileSync(`${bundle}-certificate.json`, 'utf8'));
  expect(certificate).toMatchObject({ tenantId: tenant.id, reason: 'ticket 4711' });
  expect(existsSync(`${bundle}-certificate.txt`)).toBe(true);
  expect(await verifiedBundle(bundle)).toMatchObject({ result: 'intact' });
  // What is left is explained by the record alone: an operator still can verify it.
  const url = ['--url', verified.url, '--key', platformKey];
  const args = [
    'verify',
    tenant.id,
    ...url,
    '--reason',
    'after',
    '--json',
    '--state',
    verified.folder,
  ];
  const after = await runCli(args);
  const report = JSON.parse(after.stdout);
  expect([report.result, report.findings.kept]).toEqual(['intact', []]);
});

test('offboarding without its object store, or of an unknown tenant, is refused in one sentence', async () => {
  const env = { ...envOf(verified.service), OBJECT_STORE_URL: 's3://b/prefix' };
  const bundle = join(tmpdir(), 'indelible-no-bundle');
  const args = ['erase', '--tenant', verified.tenant.id, '--bundle', bundle, ...by];
  const { status, stderr } = await runCli(args, { env });
  expect([status, stderr]).toEqual([1, expect.stringMatching(/^indelible: [^\n]*names “b”\n$/)]);
  const unknown = '018f3a6e-5d1b-7c42-9a10-3f6e2b8d4cff';
  const shown = await runCli(['erase', '--tenant', unknown], { env: envOf(verified.service) });
  expect([shown.status, shown.stdout, shown.stderr]).toEqual([
    1,
    '',
    `indelible: there is no tenant ${unknown}\n`,
  ]);
});

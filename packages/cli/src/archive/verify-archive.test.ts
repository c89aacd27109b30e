import { cpSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import {
  createFrontier,
  emptyLogState,
  eventIdFromUuid,
  leafHash,
  segmentHash,
  segmentNames,
} from '@indelible/protocol';
import { archiveNow, archiveOf, configOf, envOf } from '@indelible/testing/archived';
import { ana, eraseNow } from '@indelible/testing/erasure-setup';
import { poolEvents, recordAll } from '@indelible/testing/event-pool';
import { newFolder } from '@indelible/testing/folders';
import { type FileRow, rewrite } from '@indelible/testing/parquet';
import { startS3Server } from '@indelible/testing/s3-server';
import { eventOf, testService } from '@indelible/testing/service';
import { expect, test } from 'vitest';
import { runArchive } from '../../../server/src/archive/command.ts';
import type { ArchiveManifest } from '../../../server/src/archive/manifest.ts';
import {
  adjust,
  archiveIn,
  copiedArchive,
  namesIn,
  pathOf,
  stated,
  verifiedArchive,
} from '../testing/archive-copy.ts';
import { runCli } from '../testing/run-cli.ts';
import { sha } from '../verify/hashing.ts';
import type { Report } from '../verify/report.ts';

const service = await testService();
const s3 = await startS3Server();
const folder = newFolder();

const tenant = await service.tenant();
await recordAll(service, tenant.key, poolEvents(400, service.clock.now, 150));
await archiveOf(service, tenant.id, { limits: { entries: 150, characters: 1e6 } });
await recordAll(service, tenant.key, [
  eventOf({ before: { a: 1 }, after: { a: 2 }, diff: {}, reason: '"ñandú" 𝒳' }),
  eventOf({
    after: { a: 2 },
    outcome: 'denied',
    onBehalfOf: [{ externalId: 'user_7', name: 'Ana' }],
  }),
]);
await archiveOf(service, tenant.id);
const whole = archiveIn(service, tenant.id);

const verify = (where: string, vkeys: string[] = []) =>
  verifiedArchive(where, { tenantId: tenant.id, vkeys });

const copy = () => copiedArchive(whole, folder);

/** Changes the row of one event. */
const at =
  (sequence: bigint, changed: (row: FileRow) => FileRow) =>
  (row: FileRow): FileRow =>
    row.sequence === sequence ? { ...row, ...changed(row) } : row;

function expectDamage(report: Report, codes: string[], sequence: number | null) {
  expect(report.result).toBe('damaged');
  expect(Object.keys(report.findings.byCode).sort()).toEqual(codes.sort());
  expect(report.firstDamage?.sequence ?? null).toBe(sequence);
}

test('an archive verifies from its files alone: entries, root, signature, every event', async () => {
  const report = await verify(whole);
  expect(report.findings).toEqual({ count: 0, byCode: {}, kept: [] });
  expect(report).toMatchObject({
    what: 'archive',
    result: 'intact',
    checked: { files: 8, entries: 407, bodies: { bodies: 407, intact: 407 } },
    checkpoint: { size: 407, keysFrom: 'archive' },
  });
});

test('an archive on S3 verifies the same way', async () => {
  const url = await s3.newUrl();
  const own = await service.tenant();
  await archiveOf(service, own.id, {}, url);
  const where = url.replace('?', '/archive?');
  const report = await verifiedArchive(where);
  expect(report).toMatchObject({ result: 'intact', checked: { entries: 2 } });
});

test('an archive whose last part the checkpoint goes beyond is held against it all the same', async () => {
  const copied = copy();
  for (const name of copied.names.filter((each) => /0{9}(300|402)-/.test(each))) {
    rmSync(join(copied.root, name));
  }
  const report = await verify(copied.root);
  expect(report).toMatchObject({ result: 'intact', checked: { entries: 300 } });
  expect(report.follows.join()).toContain('the signed checkpoint of 402 continues them');
});

test('a changed event is found, also with adjusted checksums', async () => {
  const copied = copy();
  await rewrite(pathOf(copied, '150-000000000299.parquet'), (row) => ({
    ...row,
    action: 'erased',
  }));
  expectDamage(
    await verify(copied.root),
    ['file_mismatch', 'earlier_root_mismatch', 'root_mismatch'],
    150,
  );
});

test('values that query engines show and no entry holds are refused: times, null, columns, months', async () => {
  const later = ({ timestamp }: FileRow) => (timestamp as bigint) + 40n * 86_400_000_000n;
  const lies: [file: string, (row: FileRow) => FileRow][] = [
    ['.parquet', at(200n, (row) => ({ timestamp: later(row) }))],
    ['.parquet', at(200n, () => ({ timestamp: null }))],
    ['.parquet', at(200n, () => ({ cross_tenant: null }))],
    ['.parquet', at(200n, () => ({ entry_version: 3n }))],
    ['.parquet', (row) => ({ ...row, note: 'forged' })],
    ['-identity.parquet', (row) => ({ ...row, actor_phone: '+1 555' })],
  ];
  for (const [file, lie] of lies) {
    const copied = copy();
    const path = pathOf(copied, `150-000000000299${file}`);
    await rewrite(path, lie);
    adjust(copied, '_000000000150', (json: Pick<ArchiveManifest, 'files'>) => {
      const kind = file === '.parquet' ? 'events' : 'identity';
      Object.assign(json.files[kind], stated(path));
    });
    const { result, findings } = await verify(copied.root);
    expect([result, findings.byCode.malformed_file], String(lie)).toEqual(['damaged', 1]);
  }
  const copied = copy();
  const month = dirname(pathOf(copied, '_000000000150'));
  mkdirSync(join(month, '../month=00'));
  for (const name of readdirSync(month).filter((each) => each.includes('150-000000000299'))) {
    renameSync(join(month, name), join(month, '../month=00', name));
  }
  expectDamage(await verify(copied.root), ['malformed_file', 'missing_entries'], 150);
});

test('a file that no manifest names is told: query engines would show its rows', async () => {
  for (const name of ['000000000150-000000000299-r9.parquet', '9.parquet']) {
    const copied = copy();
    const path = pathOf(copied, '150-000000000299.parquet');
    cpSync(path, join(dirname(path), name));
    const { result, doesNotFollow } = await verify(copied.root);
    expect(result).toBe('intact');
    expect(doesNotFollow.join()).toContain(`no manifest names, such as tenant=${tenant.id}/`);
  }
});

test('a part that is missing is named by the entries that it held', async () => {
  const copied = copy();
  for (const name of copied.names.filter((each) => each.includes('000000000150-'))) {
    rmSync(join(copied.root, name));
  }
  const report = await verify(copied.root);
  expectDamage(report, ['missing_file'], 150);
  expect(report.findings.kept[0]?.message).toContain('entries 150 to 299 are in no part');
});

test('an event that is left out, though its entry is kept, is missing', async () => {
  const own = await service.tenant();
  await recordAll(service, own.key, [eventOf(), eventOf()]);
  await archiveOf(service, own.id);
  const root = archiveIn(service, own.id);
  const { rows } = await service.owner.query<{ entry: Buffer }>(
    'SELECT entry FROM log_tail WHERE tenant_id = $1 AND sequence = 2',
    [own.id],
  );
  const commitment = rows[0]?.entry.subarray(28);
  const kept = ['sequence', 'id', 'timestamp', 'received_at', 'entry_version'];
  const emptied = at(2n, (row) =>
    Object.fromEntries(
      Object.keys(row).map((name) => {
        if (kept.includes(name)) return [name, row[name]];
        return [name, name === 'commitment' ? commitment : null];
      }),
    ),
  );
  const names = namesIn(root);
  const path = (end: string) => join(root, names.find((each) => each.endsWith(end)) ?? '');
  await rewrite(path('000000000003.parquet'), emptied);
  const unlike = await verifiedArchive(root);
  expect(unlike.findings.kept.map(({ message }) => message).join()).toContain(
    'the row of sequence 2 has parts of an event that is absent',
  );
  await rewrite(path('000000000003-identity.parquet'), emptied);
  const report = await verifiedArchive(root);
  expectDamage(report, ['file_mismatch', 'missing_body'], 2);
});

test('an archive agrees with the checkpoints of its log that this machine verified before', async () => {
  const { checkpoint } = await verify(whole);
  const withSeen = (root: Buffer) => {
    const [size, seenAt] = [200, '2026-11-01T00:00:00.000Z'];
    const seen = { checkpoint: { origin: checkpoint?.origin ?? '', size, root }, note: '', seenAt };
    const seenOf = () => [{ ...seen, service: null }];
    return verifiedArchive(whole, { seenOf });
  };
  expectDamage(await withSeen(Buffer.alloc(32)), ['earlier_root_mismatch'], null);
  const entries = createFrontier(emptyLogState, sha);
  const { rows } = await service.owner.query<{ data: Buffer }>(
    'SELECT data FROM log_tiles WHERE tenant_id = $1 AND level = 0 AND index = 0',
    [tenant.id],
  );
  for (let n = 0; n < 200; n += 1) {
    entries.append(leafHash(sha, rows[0]?.data.subarray(n * 60, n * 60 + 60) ?? Buffer.alloc(0)));
  }
  const { result, follows } = await withSeen(Buffer.from(entries.root()));
  expect([result, follows.join()]).toEqual([
    'intact',
    expect.stringContaining('the checkpoint of size 200 that was verified before'),
  ]);
});

test('a signature of another key, and a key that is not the pinned one, are refused', async () => {
  const copied = copy();
  adjust(copied, '_000000000402', (json: { checkpoint: string }) => {
    json.checkpoint = json.checkpoint.replace(
      /(— \S+ \S{20})./,
      (all, kept) => `${kept}${all.endsWith('A') ? 'B' : 'A'}`,
    );
  });
  const forged = await verify(copied.root);
  expect(forged.checkpoint).toBe(null);
  expect(forged.result).toBe('damaged');
  const { checkpoint } = await verify(whole);
  const pinned = checkpoint?.signedBy ?? [];
  expect((await verify(whole, pinned)).result).toBe('intact');
});

test('an event changed in the database is archived as found, and verification names it', async () => {
  const own = await service.tenant();
  await recordAll(service, own.key, [eventOf(), eventOf(), eventOf()]);
  await service.app.checkpoints.tick();
  const { rows } = await service.owner.query<{ id: string }>(
    `UPDATE audit_events SET reason = 'nobody said so' WHERE tenant_id = $1 AND sequence = 3 RETURNING id`,
    [own.id],
  );
  await service.owner.query('DELETE FROM audit_events WHERE tenant_id = $1 AND sequence = 4', [
    own.id,
  ]);
  const { parts } = await archiveOf(service, own.id);
  expect(parts).toMatchObject([{ events: 4, contradicted: 1 }]);
  const where = archiveIn(service, own.id);
  const report = await verifiedArchive(where);
  expectDamage(report, ['content_mismatch', 'missing_body'], 3);
  expect(report.firstDamage?.eventId).toBe(eventIdFromUuid(rows[0]?.id ?? ''));
});

/** A tenant whose archive holds what a person did; the folder of it. */
async function archivedPerson() {
  const own = await service.tenant();
  await recordAll(service, own.key, [eventOf({ before: { a: 1 }, after: { a: 2 }, diff: {} })]);
  await archiveOf(service, own.id);
  const root = archiveIn(service, own.id);
  const verifyOwn = () => verifiedArchive(root);
  return { ...own, root, verifyOwn };
}

test('an erased segment that a record of the log covers is no damage, and the record is named', async () => {
  const { id, verifyOwn } = await archivedPerson();
  await eraseNow(service, { tenantId: id, actor: ana });
  // The record lies behind the end of the archive: what it says is not proven yet.
  const early = await verifyOwn();
  expect(early).toMatchObject({ result: 'unproven', findings: { count: 0 } });
  expect(early.unproven.join()).toContain('lacks its identity');
  await archiveOf(service, id);
  const report = await verifyOwn();
  expect(report).toMatchObject({ result: 'intact', findings: { count: 0 } });
  expect(report.checked.bodies?.erased?.identity).toMatchObject({ events: 1 });
  expect(report.checked.bodies?.withheld).toEqual({ change: 0, context: 0, identity: 0, state: 0 });
});

test('an event erased before it is archived is covered by its record or by the manifest', async () => {
  const own = await service.tenant();
  await recordAll(service, own.key, [eventOf()]);
  await service.app.checkpoints.tick();
  await eraseNow(service, { tenantId: own.id, actor: ana });
  const root = archiveIn(service, own.id);
  // Up to the last checkpoint, which does not reach the record.
  const now = () => service.clock.now;
  await runArchive(configOf(service), service.ownerUrl, own.id, { now });
  const verifyOwn = () => verifiedArchive(root);
  expect(await verifyOwn()).toMatchObject({ result: 'unproven', findings: { count: 0 } });
  await archiveOf(service, own.id);
  expect(await verifyOwn()).toMatchObject({ result: 'intact', findings: { count: 0 } });
});

const columnsOf = {
  change: { diff: '{}', reason: null },
  state: { before: null, after: null },
  identity: {
    actor_email: null,
    actor_ip: null,
    actor_user_agent: null,
    resource_name: null,
  },
};

test.each(['identity', 'change', 'state'] as const)(
  'an erasure of %s that no record of the log covers is damage, whatever the checksums say',
  async (segment) => {
    const { id, verifyOwn, root } = await archivedPerson();
    expect(await verifyOwn()).toMatchObject({ result: 'intact' });
    const { hash, eventSalt } = await leftOf(id, segment);
    const copied = { root, names: namesIn(root) };
    const kind = segment === 'identity' ? 'identity' : 'events';
    const path = pathOf(copied, segment === 'identity' ? '-identity.parquet' : '02.parquet');
    const values = {
      ...columnsOf[segment],
      [`salt_${segment}`]: null,
      [`hash_${segment}`]: hash,
      ...(segment === 'change' && { salt_event: eventSalt }),
    };
    await rewrite(
      path,
      at(2n, () => values),
    );
    adjust(copied, '_0000', (json: Pick<ArchiveManifest, 'files'>) => {
      Object.assign(json.files[kind], stated(path));
    });
    expectDamage(await verifyOwn(), ['undeclared_withholding'], null);
  },
);

/** What is left of a segment of the tenant's third event when its text is gone. */
async function leftOf(tenantId: string, segment: 'identity' | 'change' | 'state') {
  const { rows } = await service.owner.query<Record<string, string> & { salts: Buffer }>(
    `SELECT salts, diff::text, before::text, after::text, actor_email, actor_ip, actor_user_agent,
       resource_name FROM audit_events WHERE tenant_id = $1 AND sequence = 2`,
    [tenantId],
  );
  const [row] = rows;
  if (!row) throw new Error('there is no such event');
  const texts = {
    change: `{"diff":${row.diff},"reason":null}`,
    state: `{"after":${row.after},"before":${row.before}}`,
    identity: `{"actor":{"email":"${row.actor_email}","ip":"${row.actor_ip}","userAgent":"${row.actor_user_agent}"},"resource":{"name":"${row.resource_name}"}}`,
  };
  const index = segmentNames.indexOf(segment);
  const at = 16 * segmentNames.filter((name) => name !== 'context').indexOf(segment);
  const salt = row.salts.subarray(at, at + 16);
  const hash = segmentHash(sha, index, salt, texts[segment]);
  return { hash, eventSalt: row.salts.subarray(16, 32) };
}

test('the commands run, list and verify an archive', async () => {
  const own = await service.tenant();
  await service.app.checkpoints.tick();
  const env = envOf(service);
  const run = await runCli(['archive', 'run', '--tenant', own.id], { env });
  expect(run.stderr).toBe('');
  expect(run.stdout).toContain('1 part added');
  const list = await runCli(['archive', 'list', '--tenant', own.id, '--json'], { env });
  expect(JSON.parse(list.stdout).segments).toMatchObject([{ first: 0, last: 1, events: 2 }]);
  const verified = await runCli(['archive', 'verify', '--tenant', own.id], { env });
  expect(verified).toMatchObject({ status: 0 });
  expect(verified.stdout).toContain('INTACT');
  const small = await service.tenant('Pro');
  const nothing = await runCli(['archive', 'run', '--tenant', small.id], { env });
  expect([nothing.status, nothing.stdout]).toEqual([1, '']);
  expect(nothing.stderr).toContain(`tenant ${small.id} has no archive`);
});

test('the service forgets an archive part only where nothing of it is left', async () => {
  const own = await service.tenant();
  await service.app.checkpoints.tick();
  const env = envOf(service);
  const archive = (...args: string[]) => runCli(['archive', ...args, '--tenant', own.id], { env });
  await archive('run');
  const folder = `archive/tenant=${own.id}`;
  const refused = await archive('forget');
  expect([refused.status, refused.stderr]).toEqual([1, expect.stringContaining(folder)]);
  rmSync(join(service.dataDir, 'objects', folder), { recursive: true });
  expect(await archive('forget')).toMatchObject({ status: 0, stderr: '' });
  expect((await archive('forget')).stderr).toContain('nothing of the tenant');
  expect((await archive('run')).stdout).toContain('1 part added');
});

test('verify takes the folder of an archive, and says whose it needs to know', async () => {
  const offline = await runCli(['verify', whole]);
  expect(offline.status).toBe(0);
  expect(offline.stdout).toContain('The archive');
  await service.tenant();
  await archiveNow(service);
  const all = await runCli(['verify', join(service.dataDir, 'objects')]);
  expect(all.status).toBe(2);
  expect(all.stderr).toContain(tenant.id);
});

test('restore asks first, fills an empty service, and no other', async () => {
  const fresh = await testService();
  try {
    const env = envOf(fresh);
    const none = await runCli(['archive', 'verify'], { env });
    expect([none.status, none.stderr]).toEqual([
      2,
      expect.stringMatching(/objects\/archive holds no archive: "indelible archive run" makes the/),
    ]);
    expect((await runCli(['archive', 'restore', whole], { env })).status).toBe(2);
    const done = await runCli(['archive', 'restore', whole, '--yes'], { env });
    expect(done.stderr).toBe('');
    expect(done.stdout).toContain(`tenant ${tenant.id}`);
    const again = await runCli(['archive', 'restore', whole, '--yes'], { env });
    expect(again).toMatchObject({ status: 1 });
    expect(again.stderr).toContain('the service has tenants');
  } finally {
    await fresh.close();
  }
});

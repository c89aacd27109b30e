import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { tenantUuid, uuidFromEventId } from '@indelible/protocol';
import { newFolder } from '@indelible/testing/folders';
import { eventOf, platformKey, serviceOn, testService } from '@indelible/testing/service';
import { afterAll, expect, test } from 'vitest';
import { scriptedService } from '../../../client/src/testing/scripted-service.ts';
import { takeLine } from '../import/source-line.ts';
import { type CliOptions, RunningCli, runCli } from '../testing/run-cli.ts';

const service = await testService();
const url = await service.app.http.listen({ port: 0 });
const folder = newFolder();
const env = { INDELIBLE_URL: url, INDELIBLE_API_KEY: platformKey };
// Files are named as a person in that folder would name them.
const before = process.cwd();
process.chdir(folder);
afterAll(() => process.chdir(before));

const minute = 60_000;
const moment = (index: number) => new Date(Date.now() - (10_000 - index) * minute).toISOString();

/** `count` events of as many tenants as given, in turns, as lines. */
function linesOf(count: number, tenants: readonly string[]): string[] {
  return Array.from({ length: count }, (_, index) =>
    JSON.stringify({
      sourceId: `row-${index}`,
      tenantId: tenants[index % tenants.length],
      timestamp: moment(index),
      ...eventOf({ diff: { place: { from: index, to: index + 1 } } }),
    }),
  );
}

const newTenants = (count: number) => Array.from({ length: count }, () => randomUUID());

function importJson(args: string[], options: CliOptions = {}) {
  return runCli(['import', ...args, '--json'], { env, ...options }).then((result) => ({
    ...result,
    summary: result.stdout === '' ? null : JSON.parse(result.stdout),
  }));
}

/**
 * UUIDs of what is stored for a tenant, in the order of its log, without the service's own events.
 */
async function storedIds(tenantId: string): Promise<string[]> {
  const { rows } = await service.owner.query(
    `SELECT id FROM audit_events
      WHERE tenant_id = $1 AND recorded_by_kind = 'api_key' ORDER BY sequence`,
    [tenantId],
  );
  return rows.map(({ id }) => id);
}

function idsOf(lines: readonly string[], tenantId: string): string[] {
  return lines.flatMap((line) => {
    const taken = takeLine({ number: 1, bytes: Buffer.from(line), tooLong: false });
    if ('refusal' in taken || taken.event.tenantId !== tenantId) return [];
    return [uuidFromEventId(JSON.parse(taken.event.text).id) ?? ''];
  });
}

function rejectedIn(file: string): { line: number; code: string; text?: string }[] {
  const lines = readFileSync(join(folder, file), 'utf8').trimEnd().split('\n');
  return lines.map((line) => JSON.parse(line)).sort((a, b) => a.line - b.line);
}

test('every event is stored exactly once in the order of its lines; importing again adds nothing', async () => {
  const tenants = newTenants(7);
  const lines = linesOf(2_100, tenants);
  writeFileSync(join(folder, 'events.jsonl.gz'), gzipSync(lines.join('\n')));
  const args = ['events.jsonl.gz', '--create-tenants', 'Enterprise'];
  const first = await importJson(args);
  expect(first.status).toBe(0);
  expect(first.summary).toMatchObject({ lines: 2_100, created: 2_100, tenantsCreated: 7 });
  for (const [n, id] of tenants.entries()) {
    const own = lines.filter((_, index) => index % 7 === n);
    expect(await storedIds(id)).toEqual(idsOf(own, id));
  }
  const second = await importJson(args);
  expect(second.status).toBe(0);
  expect(second.summary).toMatchObject({ created: 0, duplicates: 2_100, tenantsCreated: 0 });
  for (const id of tenants) expect(await storedIds(id)).toHaveLength(300);
  expect(existsSync(join(folder, 'events.jsonl.gz.rejected.ndjson'))).toBe(false);
});

test('lines may name a new tenant by the own id of the host product', async () => {
  writeFileSync(join(folder, 'own.ndjson'), linesOf(2, ['org_7']).join('\n'));
  const { status } = await importJson(['own.ndjson', '--create-tenants', 'Pro']);
  expect(status).toBe(0);
  expect(await storedIds(tenantUuid('org_7') ?? '')).toHaveLength(2);
  const made = await service.call({ url: '/api/tenants/org_7' });
  expect(made.body).toMatchObject({ externalId: 'org_7', name: 'Imported org_7' });
});

test('events of one second are listed in the order of their lines; importing again, also more of them, adds no other', async () => {
  const { id, key } = await service.tenant();
  const steps = ['create', 'update', 'attach', 'share', 'detach', 'delete'];
  const lines = steps.map((action) =>
    JSON.stringify({ ...eventOf({ action }), sourceId: randomUUID(), timestamp: moment(0) }),
  );
  const run = (input: string[]) =>
    importJson(['-', '--tenant', id], { input: input.join('\n') }).then(({ summary }) => summary);
  expect(await run(lines.slice(0, 4))).toMatchObject({ created: 4 });
  expect(await run(lines)).toMatchObject({ created: 2, duplicates: 4 });
  const { body } = await service.call({ url: '/api/audit-logs?resource=queue&order=asc', key });
  expect(body.data.map(({ action }: { action: string }) => action)).toEqual(steps);
});

test('bad lines are kept with number and reason, and do not keep any other line from being stored', async () => {
  const tenant = await service.tenant();
  const good = linesOf(4, [tenant.id]);
  const event = JSON.parse(good[0] ?? '');
  const invalid = Buffer.from(JSON.stringify({ ...event, action: 'a?b' }));
  invalid[invalid.indexOf('?')] = 0xff;
  const lines: (string | Buffer)[] = [
    `\ufeff${good[0]}\r`,
    '',
    `${good[1]} `,
    '{"tenantId": ',
    JSON.stringify({ ...event, sourceId: 'x', colour: 'red', action: 'Close!' }),
    invalid,
    `${JSON.stringify(event).slice(0, -1)},"reason":"${'x'.repeat(600 * 1024)}"}`,
    '   \t',
    good[2] ?? '',
    JSON.stringify({ ...event, sourceId: 'y', tenantId: randomUUID() }),
    good[3] ?? '',
  ];
  const parts = lines.flatMap((line) => [Buffer.from('\n'), Buffer.from(line)]).slice(1);
  writeFileSync(join(folder, 'mixed.ndjson'), Buffer.concat(parts));
  const { status, summary } = await importJson(['mixed.ndjson']);
  expect(status).toBe(1);
  expect(summary).toMatchObject({ lines: 9, created: 4, rejected: 5 });
  expect(await storedIds(tenant.id)).toEqual(idsOf(good, tenant.id));
  const rejected = rejectedIn('mixed.ndjson.rejected.ndjson');
  expect(rejected).toMatchObject([
    { line: 4, code: 'malformed_json', text: '{"tenantId": ' },
    {
      line: 5,
      code: 'validation_failed',
      errors: expect.arrayContaining([
        expect.objectContaining({ path: '/action' }),
        expect.objectContaining({ path: '/colour' }),
      ]),
    },
    { line: 6, code: 'malformed_json', base64: invalid.toString('base64') },
    { line: 7, code: 'payload_too_large', text: expect.stringMatching(/^\{.{999}$/) },
    { line: 10, code: 'unknown_tenant' },
  ]);
});

test('a dry run tells what the import will, without a service, and stores and writes nothing', async () => {
  const tenant = await service.tenant();
  const good = linesOf(3, [tenant.id]);
  const event = JSON.parse(good[0] ?? '');
  const ahead = new Date(Date.now() + 86_400_000).toISOString();
  const lines = [
    ...good,
    good[1] ?? '',
    '{"tenantId": ',
    JSON.stringify({ ...event, sourceId: 'x', colour: 'red', action: 'Close!' }),
    JSON.stringify({ ...event, sourceId: 'y', action: 'Open!' }),
    JSON.stringify({ ...event, action: 'delete' }),
    JSON.stringify({ ...event, sourceId: 'z', timestamp: ahead }),
    JSON.stringify({ ...event, sourceId: 'w', timestamp: '1969-12-31T23:59:59Z' }),
    JSON.stringify({ ...event, sourceId: 'v', actor: { ...event.actor, email: 'n/a' } }),
  ];
  writeFileSync(join(folder, 'first.ndjson'), lines.join('\n'));
  const dry = await importJson(['first.ndjson', '--dry-run'], { env: {} });
  expect(dry.status).toBe(1);
  expect(dry.summary).toMatchObject({ dryRun: true, created: 4, duplicates: 1, rejected: 6 });
  expect(await storedIds(tenant.id)).toEqual([]);
  expect(existsSync(join(folder, 'first.ndjson.rejected.ndjson'))).toBe(false);
  const real = await importJson(['first.ndjson']);
  const { rejectedFile, ...counts } = { ...real.summary, dryRun: true };
  expect(rejectedFile).toBe('first.ndjson.rejected.ndjson');
  const either = { seconds: expect.anything(), eventsPerSecond: expect.anything() };
  const conflicts = { ...counts.conflicts, file: null };
  expect(dry.summary).toEqual({ ...counts, ...either, conflicts, rejectedFile: null });
  expect(real.summary.rejections).toContainEqual({
    path: '/action',
    code: 'invalid_format',
    count: 2,
    message: expect.stringContaining('snake_case'),
    lines: [6, 7],
    text: lines[5]?.slice(0, 200),
  });
  const shown = await runCli(['import', 'first.ndjson', '--dry-run'], { env: {} });
  expect(shown.stdout).toMatch(/would be created +4\n/);
  expect(shown.stdout).toContain('dry run: nothing is stored');
  expect(shown.stdout).toContain('1 × /timestamp invalid_format: is before 1970');
});

test('a dry run has no file of rejects, and its exit status tells of a fine file', async () => {
  const [line = ''] = linesOf(1, newTenants(1));
  const fine = await runCli(['import', '-', '--dry-run'], { env: {}, input: line });
  expect([fine.status, fine.stderr]).toEqual([0, '']);
  const both = await runCli(['import', '-', '--dry-run', '--rejects', 'x'], { env: {} });
  expect([both.status, both.stderr]).toEqual([2, expect.stringContaining('--rejects')]);
});

test('lines that were rejected can be mended and imported from the file they are in', async () => {
  const tenant = await service.tenant();
  const lines = linesOf(2, [tenant.id]).map((line) => line.replace('"update"', '"Update"'));
  writeFileSync(join(folder, 'wrong.ndjson'), lines.join('\n'));
  await importJson(['wrong.ndjson', '--rejects', 'kept.txt']);
  const mended = rejectedIn('kept.txt').map(({ text = '' }) =>
    text.replace('"Update"', '"update"'),
  );
  const { summary } = await importJson(['-'], { input: mended.join('\n') });
  expect(summary).toMatchObject({ created: 2, rejected: 0 });
});

test('one sourceId for two events is told with both lines: stored when the times differ', async () => {
  const tenant = await service.tenant();
  const [line = ''] = linesOf(1, [tenant.id]);
  const event = JSON.parse(line);
  const later = { ...event, timestamp: moment(50), action: 'delete' };
  const same = { ...event, action: 'delete' };
  const lines = [event, event, later, same].map((each) => JSON.stringify(each));
  writeFileSync(join(folder, 'twice.ndjson'), lines.join('\n'));
  const { status, summary } = await importJson(['twice.ndjson']);
  expect(status).toBe(1);
  expect(summary).toMatchObject({
    created: 2,
    duplicates: 1,
    rejected: 1,
    rejectedByCode: { id_conflict: 1 },
    conflicts: { count: 2, file: 'twice.ndjson.conflicts.ndjson' },
  });
  const expected = { sourceId: 'row-0', tenantId: tenant.id, firstLine: 1 };
  expect(rejectedIn('twice.ndjson.conflicts.ndjson')).toEqual([
    { ...expected, line: 3 },
    { ...expected, line: 4 },
  ]);
  expect(rejectedIn('twice.ndjson.rejected.ndjson')).toMatchObject([
    { line: 4, reason: expect.stringContaining('stored this sourceId') },
  ]);
  const fine = await importJson(['-'], { input: lines.slice(0, 3).join('\n') });
  expect([fine.status, fine.summary.conflicts.count]).toEqual([0, 1]);
});

test("a tenant's own key imports lines that name no tenant, from a pipe", async () => {
  const tenant = await service.tenant();
  const lines = linesOf(3, [tenant.id]);
  const bare = lines.map((line) => line.replace(`"tenantId":"${tenant.id}",`, ''));
  const own = { INDELIBLE_URL: url, INDELIBLE_API_KEY: tenant.key };
  const args = ['-', '--tenant', tenant.id];
  const { status } = await importJson(args, { env: own, input: bare.join('\n') });
  expect(status).toBe(0);
  expect(await storedIds(tenant.id)).toEqual(idsOf(lines, tenant.id));
});

test('lines of another tenant are recorded in the tenant of --tenant, and the summary says so', async () => {
  const [old, other] = await Promise.all([service.tenant(), service.tenant()]);
  const lines = linesOf(3, [old.id]);
  const first = await importJson(['-'], { input: lines.join('\n') });
  expect(first.summary).toMatchObject({ created: 3, moved: 0 });
  const run = await importJson(['-', '--tenant', other.id], { input: lines.join('\n') });
  expect(run.summary).toMatchObject({ created: 3, moved: 3 });
  expect(await storedIds(other.id)).toHaveLength(3);
});

test('epoch times are read with --time, and refused with a hint at it', async () => {
  const { id, key } = await service.tenant();
  const seconds = Math.floor(Date.parse(moment(7)) / 1_000);
  const line = JSON.stringify({ ...eventOf(), timestamp: seconds });
  const args = ['-', '--tenant', id];
  expect((await importJson(args, { input: line })).summary).toMatchObject({ rejected: 1 });
  expect(rejectedIn('import.rejected.ndjson')).toMatchObject([
    { reason: expect.stringContaining('--time epoch_s') },
  ]);
  const read = await importJson([...args, '--time', 'epoch_s'], { input: line });
  expect(read.summary).toMatchObject({ created: 1, rejected: 0 });
  const { body } = await service.call({ url: '/api/audit-logs?resource=queue', key });
  expect(Date.parse(body.data[0].timestamp)).toBe(seconds * 1_000);
});

test('a file in another form ends after some lines with a sentence, and stores nothing', async () => {
  const { id } = await service.tenant();
  const records = Array.from({ length: 200 }, (_, n) => ({ eventTime: moment(n), user: 'ana' }));
  const pretty = JSON.stringify({ Records: records }, null, 2);
  const { status, stderr, summary } = await importJson(['-', '--tenant', id], { input: pretty });
  expect([status, summary.created, summary.lines]).toEqual([2, 0, 12]);
  expect(stderr).toContain("jq -c '.Records[]'");
  const short = JSON.stringify({ Records: records.slice(0, 2) });
  const one = await importJson(['-', '--tenant', id], { input: short });
  expect([one.status, one.stderr.trim().split('\n').length]).toEqual([2, 1]);
});

test('events that are piped in slowly are recorded while the pipe is still open', async () => {
  const tenant = await service.tenant();
  const lines = linesOf(2, [tenant.id]);
  const cli = new RunningCli(['import', '-'], { env, cwd: folder });
  for (const [index, line] of lines.entries()) {
    cli.process.stdin?.write(`${line}\n`);
    await expect.poll(() => storedIds(tenant.id)).toHaveLength(index + 1);
  }
  cli.process.stdin?.end();
  expect((await cli.ended()).status).toBe(0);
});

test('Ctrl-C settles what is under way, says how far it got, and the next run finishes the rest', async () => {
  const tenant = await service.tenant();
  const lines = linesOf(600, [tenant.id]);
  const cli = new RunningCli(['import', '-', '--json'], { env, cwd: folder });
  cli.process.stdin?.write(
    lines
      .slice(0, 300)
      .map((line) => `${line}\n`)
      .join(''),
  );
  await expect.poll(() => storedIds(tenant.id)).not.toHaveLength(0);
  // npx sends it a second time, at any moment.
  const again = setInterval(() => cli.process.kill('SIGINT'), 1);
  const { status, stdout, stderr } = await cli.ended().finally(() => clearInterval(again));
  expect(status).toBe(130);
  expect(JSON.parse(stdout)).toMatchObject({ interrupted: true });
  expect(stderr).toMatch(/interrupted at line \d+; run the same command again/);
  expect(await storedIds(tenant.id)).toHaveLength(JSON.parse(stdout).created);
  const rest = await importJson(['-'], { input: lines.join('\n') });
  expect(rest.status).toBe(0);
  expect(await storedIds(tenant.id)).toEqual(idsOf(lines, tenant.id));
});

test('a service that no longer answers holds Ctrl-C up for a few seconds at most', async () => {
  const silent = await scriptedService([{ body: { status: 'ok' } }, { silent: true }]);
  const there = { ...env, INDELIBLE_URL: silent.url };
  const cli = new RunningCli(['import', '-', '--json'], { env: there, cwd: folder });
  cli.process.stdin?.write(`${linesOf(1, newTenants(1))[0]}\n`);
  await expect.poll(() => silent.received.length).toBe(2);
  cli.process.kill('SIGINT');
  const { status, stdout } = await cli.ended();
  expect([status, JSON.parse(stdout).created]).toEqual([130, 0]);
});

test('a service that restarts in the middle costs nothing but time', async () => {
  const tenant = await service.tenant();
  const lines = linesOf(2_000, [tenant.id]);
  const half = (part: string[]) => part.map((line) => `${line}\n`).join('');
  const first = await serviceOn(service.servingUrl, service.clock);
  await first.app.http.listen({ port: 0 });
  const { port } = first.app.http.server.address() as AddressInfo;
  const there = { ...env, INDELIBLE_URL: `http://127.0.0.1:${port}` };
  const cli = new RunningCli(['import', '-', '--json'], { env: there, cwd: folder });
  cli.process.stdin?.write(half(lines.slice(0, 1_000)));
  await expect.poll(() => storedIds(tenant.id)).not.toHaveLength(0);
  await first.app.http.close();
  cli.process.stdin?.end(half(lines.slice(1_000)));
  const second = await serviceOn(service.servingUrl, service.clock);
  await second.app.http.listen({ port });
  const { status, stdout } = await cli.ended();
  await second.app.http.close();
  await Promise.all([first.db.close(), second.db.close()]);
  const { created, duplicates } = JSON.parse(stdout);
  expect([status, created + duplicates]).toEqual([0, 2_000]);
  expect(await storedIds(tenant.id)).toEqual(idsOf(lines, tenant.id));
});

test('a key that is refused, damaged data and an unreachable service end with their own status', async () => {
  const [line = ''] = linesOf(1, [randomUUID()]);
  const wrongKey = { INDELIBLE_URL: url, INDELIBLE_API_KEY: `${platformKey}-but-wrong` };
  const refused = await importJson(['-'], { env: wrongKey, input: line });
  expect([refused.status, refused.summary.created]).toEqual([2, 0]);
  expect(refused.stderr).toContain('unauthenticated');
  expect(refused.stdout + refused.stderr).not.toContain(platformKey);
  const damaged = gzipSync(line.repeat(50)).subarray(0, -12);
  expect((await importJson(['-'], { input: damaged })).status).toBe(1);
  const nowhere = { ...env, INDELIBLE_URL: 'http://127.0.0.1:2' };
  const unreachable = await importJson(['-'], { env: nowhere, input: line });
  expect([unreachable.status, unreachable.stdout]).toEqual([3, '']);
});

test('the summary for people says the same, and how to create unknown tenants', async () => {
  const lines = linesOf(2, newTenants(2));
  const { status, stdout } = await runCli(['import', '-'], {
    env,
    input: lines.join('\n'),
  });
  expect(status).toBe(1);
  expect(stdout).toContain(
    'rejected               2 (unknown_tenant 2), see import.rejected.ndjson',
  );
  expect(stdout).toContain('--create-tenants');
});

import { mkdirSync, readFileSync, rmdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { platformKey } from '@indelible/testing/service';
import { parse } from 'csv-parse/sync';
import { expect, test } from 'vitest';
import { runCli } from '../testing/run-cli.ts';
import { verifiedService } from '../testing/verified-service.ts';
import { noProgress } from '../verify/log-source.ts';
import { exportTable } from './export-table.ts';
import { PartFile, type TableTerms } from './part-file.ts';

const verified = await verifiedService();
verified.service.app.jobs.start();
const key = verified.tenant.key;

const path = (name: string) => join(verified.folder, name);
const env = () => ({ INDELIBLE_URL: verified.url, INDELIBLE_API_KEY: key });
const csvTerms = (): TableTerms => {
  return { tenantId: null, format: 'csv', filters: {}, columns: null };
};

async function clientWithKey() {
  const { createClient } = await import('@indelible/client');
  return createClient({ url: verified.url, key });
}

test('a CSV has every event that matches, and says which file it is', async () => {
  const output = path('all.csv');
  const made = await runCli(['export', '--output', output, '--action', '!export', '--json'], {
    env: env(),
  });
  expect(made.stderr).not.toContain('Error');
  expect(made.status).toBe(0);
  const { rows, format } = JSON.parse(made.stdout);
  const table: Record<string, string>[] = parse(readFileSync(output), { columns: true });
  expect(format).toBe('csv');
  expect(table).toHaveLength(rows);
  expect(rows).toBeGreaterThan(550);
  expect(table.every(({ action }) => action !== 'export')).toBe(true);
});

test('whole events go out as NDJSON and come back into another service, without loss', async () => {
  const output = path('all.ndjson');
  const made = await runCli(['export', '--output', output, '--resource', 'ivr'], { env: env() });
  expect(made.status).toBe(0);
  const other = await verifiedService();
  const target = { INDELIBLE_URL: other.url, INDELIBLE_API_KEY: platformKey };
  const lines = readFileSync(output, 'utf8').trimEnd().split('\n');
  expect(lines.length).toBeGreaterThan(20);
  const imported = await runCli(['import', output, '--create-tenants', 'Pro'], { env: target });
  expect(imported.stdout).toMatch(/^rejected +0$/m);
  expect(imported.status).toBe(0);
  for (const line of lines.slice(0, 10)) {
    const sent = JSON.parse(line);
    const { sequence, receivedAt, recordedBy, ...whole } = sent;
    const found = await other.service.call({
      url: `/api/audit-logs/${sent.id}`,
      key: platformKey,
      headers: { 'x-tenant-id': sent.tenantId, 'x-access-reason': 'comparison' },
    });
    expect(found.body).toMatchObject(whole);
  }
});

test('a download that was cut off goes on with the next byte of the same export', async () => {
  const client = await clientWithKey();
  const target = path('cut.csv');
  const whole = await exportTable(client, path('whole.csv'), csvTerms(), noProgress);
  const bytes = readFileSync(path('whole.csv'));
  const part = new PartFile(target, csvTerms());
  part.begin(whole.id);
  writeFileSync(`${target}.part`, bytes.subarray(0, 1_000));
  const asked: (number | undefined)[] = [];
  const watched = {
    ...client,
    exports: {
      ...client.exports,
      download: (id: string, fromByte?: number) => {
        asked.push(fromByte);
        return client.exports.download(id, fromByte);
      },
    },
  };
  const continued = await exportTable(watched, target, csvTerms(), noProgress);
  expect(continued.id).toBe(whole.id);
  expect(asked).toEqual([1_000]);
  expect(readFileSync(target)).toEqual(bytes);
});

test('bytes that are not the file are fetched once more, never kept', async () => {
  const client = await clientWithKey();
  const target = path('damaged.csv');
  const whole = await exportTable(client, path('sound.csv'), csvTerms(), noProgress);
  const part = new PartFile(target, csvTerms());
  part.begin(whole.id);
  writeFileSync(`${target}.part`, Buffer.alloc(500, 'x'));
  await exportTable(client, target, csvTerms(), noProgress);
  expect(readFileSync(target)).toEqual(readFileSync(path('sound.csv')));
});

test('the beginning of another export is never continued, and a file never overwritten', async () => {
  const target = path('other.csv');
  const part = new PartFile(target, csvTerms());
  part.begin('exp_00000000000000000000000000');
  const filters = { action: 'login' };
  expect(() => new PartFile(target, { ...csvTerms(), filters })).toThrow(
    'belongs to another export',
  );
  truncateSync(`${target}.part`);
  const client = await clientWithKey();
  await exportTable(client, target, csvTerms(), noProgress); // an unknown export: begun anew
  expect(() => new PartFile(target, csvTerms())).toThrow('exists already');
});

test('the command says in a sentence which file it cannot write, and goes on when it can', async () => {
  const client = await clientWithKey();
  const target = path('full.csv');
  const { id } = await exportTable(client, path('made.csv'), csvTerms(), noProgress);
  new PartFile(target, csvTerms()).begin(id);
  rmSync(`${target}.part`);
  mkdirSync(`${target}.part`);
  const args = ['export', '--output', target];
  const refused = await runCli(args, { env: env() });
  expect([refused.status, refused.stderr]).toEqual([
    1,
    `indelible: ${target}.part cannot be written (EISDIR); fix that, then run the same ` +
      'command again to continue\n',
  ]);
  rmdirSync(`${target}.part`);
  expect((await runCli(args, { env: env() })).status).toBe(0);
  expect(readFileSync(target)).toEqual(readFileSync(path('made.csv')));
});

test.each([
  [[], 'name a table with --output, or a --bundle'],
  [['--output', 'table.txt'], 'name the file .csv or .ndjson'],
  [['--output', 't.ndjson', '--columns', 'id'], '--columns is for CSV'],
  [['--output', 't.csv', '--columns', 'password'], 'Allowed are id, timestamp'],
  [['--output', 't.csv', '--withhold', 'state'], '--withhold is for a --bundle'],
  [['--output', 't.csv', '--from', 'yesterday'], 'from'],
  [['--output', 'no/such/folder/t.csv'], 'no/such/folder is not a writable folder'],
  [['--output', '', '--format', 'csv'], 'name a table with --output'],
  [['--bundle', 'b', '--action', 'login', '--tenant', 'x'], 'a whole log'],
])('export %j is wrong usage, and says what to do', async (args, sentence) => {
  const { status, stderr } = await runCli(['export', ...args], { env: env() });
  expect(status).toBe(2);
  expect(stderr).toContain(sentence);
});

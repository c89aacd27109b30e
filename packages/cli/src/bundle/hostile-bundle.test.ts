import { execFileSync } from 'node:child_process';
import {
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { bundleOf, forgedBundle, verifiedBundle } from '../testing/bundle-of.ts';
import { runCli } from '../testing/run-cli.ts';
import { verifiedService } from '../testing/verified-service.ts';
import { bundleFiles } from './manifest.ts';

/* Bundles made to hang, crash or fill the verifier, and not only to deceive it. */

const log = await verifiedService();
const bundle = await bundleOf(log);

const copied = () => forgedBundle(bundle, 'checkpoint', (content) => content);
const names = [...Object.values(bundleFiles), 'tile/entries/001', 'tile/0/000'];

/** A copy in which each of these files in turn is made into something else. */
async function reportsWith(make: (path: string) => void): Promise<void> {
  for (const name of names) {
    const copy = copied();
    const path = join(copy, name);
    rmSync(path);
    make(path);
    const report = await verifiedBundle(copy);
    expect(report.result, name).toBe('damaged');
    const codes = Object.keys(report.findings.byCode);
    expect(codes, name).toContain('malformed_file');
  }
}

test('a pipe, a folder or a device in the place of a file is found, and never waited for', async () => {
  await reportsWith((path) => execFileSync('mkfifo', [path]));
  await reportsWith((path) => mkdirSync(path));
  await reportsWith((path) => symlinkSync('/dev/zero', path));
});

test('no link is followed, be it to the very file or by way of a folder', async () => {
  await reportsWith((path) => symlinkSync(join(bundle, 'checkpoint'), path));
  const copy = copied();
  renameSync(join(copy, 'tile'), `${copy}-tile`);
  symlinkSync(`${copy}-tile`, join(copy, 'tile'));
  const report = await verifiedBundle(copy);
  expect(report.findings.byCode).toMatchObject({ missing_entries: 1 });
  expect(report.findings.byCode.malformed_file).toBeGreaterThan(0);
});

test('links that lead in a circle are named, and not walked', async () => {
  const copy = copied();
  for (const name of ['a', 'b', 'c', 'd', 'e']) symlinkSync('..', join(copy, 'tile', name));
  const report = await verifiedBundle(copy);
  expect(report.result).toBe('intact');
  expect(report.doesNotFollow.join()).toContain('5 files that are not part of the bundle: tile/a');
});

test('JSON of another shape is a finding in every file that has JSON', async () => {
  for (const name of ['manifest.json', 'indelible-log.json', 'retention.json']) {
    for (const text of ['null', '[]', '7', '{}', '{"keys":[null]}', '[null]', '']) {
      const copy = copied();
      writeFileSync(join(copy, name), text);
      const { result, findings } = await verifiedBundle(copy);
      expect(result, `${name} ${text}`).toBe('damaged');
      expect(findings.count).toBeGreaterThan(0);
    }
  }
});

test('a file of 400 MB without a line break is not taken into memory', async () => {
  for (const name of ['SHA256SUMS', 'manifest.json', 'checkpoint', 'retention.json']) {
    const copy = copied();
    // Sparse: it takes no room, and every byte of it is read as zero.
    truncateSync(join(copy, name), 400_000_000);
    const before = process.memoryUsage().rss;
    const report = await verifiedBundle(copy);
    expect(report.findings.byCode, name).toMatchObject({ malformed_file: expect.any(Number) });
    expect(process.memoryUsage().rss - before, name).toBeLessThan(350_000_000);
  }
});

test('a list of checksums that names a file twice, or thousands that are not there, is cut short', async () => {
  const sums = readFileSync(join(bundle, 'SHA256SUMS'), 'utf8');
  const [line = ''] = sums.split('\n').filter((each) => each.endsWith('README.txt'));
  const twice = copied();
  writeFileSync(join(twice, 'SHA256SUMS'), `${line}\n${line}\n`);
  expect((await verifiedBundle(twice)).findings.byCode).toMatchObject({ malformed_file: 1 });
  const many = Array.from({ length: 5_000 }, (_, n) => `${'a'.repeat(64)}  none-${n}\n`).join('');
  const long = forgedBundle(bundle, 'SHA256SUMS', () => many);
  const { findings } = await verifiedBundle(long);
  expect(findings.byCode.missing_file).toBeLessThan(1_100);
});

test('a file that belongs to no bundle is named as what nothing is said about', async () => {
  const copy = copied();
  writeFileSync(join(copy, 'tile', 'more.txt'), 'x');
  const report = await verifiedBundle(copy);
  expect(report.result).toBe('intact');
  expect(report.doesNotFollow.join()).toContain(
    '1 file that is not part of the bundle: tile/more.txt',
  );
});

test('the command ends with status 1 and a report, not with a stack', async () => {
  const copy = copied();
  rmSync(join(copy, 'events.ndjson'));
  mkdirSync(join(copy, 'events.ndjson'));
  const { status, stdout, stderr } = await runCli(['verify', copy]);
  expect([status, stderr]).toEqual([1, '']);
  expect(stdout).toContain('events.ndjson is not a regular file');
});

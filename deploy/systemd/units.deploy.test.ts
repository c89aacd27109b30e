import { execFileSync } from 'node:child_process';
import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { newFolder } from '@indelible/testing/folders';
import { expect, test } from 'vitest';

/* The units as systemd reads them, with the program in this repository instead of /opt. */

const root = join(import.meta.dirname, '../..');
const folder = newFolder();

const instances: Record<string, string> = {
  'indelible.service': 'indelible.service',
  'indelible-owner@.service': 'indelible-owner@retention.service',
  'indelible-owner@.timer': 'indelible-owner@retention.timer',
};
const copies = [...Object.entries(instances), ['indelible.service', 'indelible@3001.service']];
for (const [file = '', instance = ''] of copies) {
  cpSync(join(import.meta.dirname, file), join(folder, instance));
  const text = readFileSync(join(folder, instance), 'utf8');
  writeFileSync(join(folder, instance), text.replaceAll('/opt/indelible', root));
}
const analyze = (...args: string[]) =>
  execFileSync('systemd-analyze', args, { cwd: folder, encoding: 'utf8', stdio: 'pipe' });

test('systemd finds nothing to complain of in the units', () => {
  const units = readdirSync(import.meta.dirname).filter((file) => !file.endsWith('.ts'));
  expect(units.sort()).toEqual(Object.keys(instances).sort());
  const paths = copies.map(([, file = '']) => join(folder, file));
  expect(analyze('verify', '--man=no', ...paths)).toBe('');
});

test.each(['indelible.service', 'indelible-owner@retention.service'])(
  '%s has an exposure of at most 2 of 10 in systemd’s own rating',
  (file) => {
    const unit = join(folder, file);
    expect(analyze('security', '--offline=true', '--threshold=20', '--no-pager', unit)).toContain(
      'OK',
    );
  },
);

test('a job of the owner has a folder of its own, because the service’s is closed to its account', () => {
  const unit = readFileSync(join(folder, 'indelible-owner@retention.service'), 'utf8');
  const [, account] = /^User=(.+)$/m.exec(unit) ?? [];
  expect(account).toBe('indelible-owner');
  expect(unit).toContain(`\nStateDirectory=${account}\n`);
  expect(unit).toMatch(new RegExp(`^ExecStart=/usr/bin/env DATA_DIR=%S/${account} `, 'm'));
});

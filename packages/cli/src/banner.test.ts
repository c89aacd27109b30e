import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { banner, quoted } from './banner.ts';

const facts = {
  url: 'http://127.0.0.1:3000',
  dataDir: '/srv/indelible/data',
  platformKeyFile: '/srv/indelible/data/platform-api-key',
  takenOver: false,
};

test('address, reference, data folder and the path of the key are named', () => {
  const text = banner(facts);
  expect(text).toContain('Indelible is ready at http://127.0.0.1:3000\n');
  expect(text).toContain('http://127.0.0.1:3000/docs\n');
  expect(text).toContain('  /srv/indelible/data\n');
  expect(text).toContain('  /srv/indelible/data/platform-api-key\n');
  expect(text).not.toContain('took over');
  expect(banner({ ...facts, takenOver: true })).toContain('took over');
});

test('a link to the panel is shown where there is one, and no tenant can forge a line with its name', () => {
  expect(banner(facts)).not.toContain('/enter#');
  expect(banner({ ...facts, panelLink: null })).toBe(banner(facts));
  const url = 'http://127.0.0.1:3000/enter#token';
  const panelLink = { url, expiresAt: '2026-01-01T00:00:00.000Z', tenantName: 'Evil\n\u001b[31m' };
  const text = banner({ ...facts, panelLink });
  expect(text).toContain(`\n  ${url}\n`);
  expect(text).toContain('The panel of Evil⟨U+000A⟩⟨U+001B⟩[31m opens');
});

test('a key of the environment is read from there, the first one while two are in use', () => {
  const text = banner({ ...facts, platformKeyFile: null });
  const [, header = ''] = /-H ("Authorization: [^"]*")/.exec(text) ?? [];
  const env = { PLATFORM_API_KEY: 'idl_first,idl_second' };
  const { stdout } = spawnSync('/bin/sh', ['-c', `printf %s ${header}`], { env, encoding: 'utf8' });
  expect(stdout).toBe('Authorization: Bearer idl_first');
});

test('any path survives the shell, also inside the double quotes of the header', () => {
  for (const path of ['/a b/c', "/it's/here", '/$HOME/`id`/"x"', '/srv/data', '/späß/\\n']) {
    const command = `printf %s "Bearer $(printf %s ${quoted(path)})"`;
    const { stdout } = spawnSync('/bin/sh', ['-c', command], { encoding: 'utf8' });
    expect(stdout).toBe(`Bearer ${path}`);
  }
});

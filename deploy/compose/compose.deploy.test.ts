import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { newFolder } from '@indelible/testing/folders';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect, test } from 'vitest';
import { readConfig } from '../../packages/server/src/config.ts';
import { documentedVariables } from '../testing/documented-variables.ts';
import { modules, type Yaml, yaml } from '../testing/tools.ts';

/* deploy/compose.yaml, against the schema of Compose and the names that the service knows. */

const folder = join(import.meta.dirname, '..');
const text = readFileSync(join(folder, 'compose.yaml'), 'utf8');
const compose: Yaml = yaml.parse(text, { merge: true });
const services = Object.entries<Yaml>(compose.services);
const ours = services.filter(([, { image }]) => image === 'indelible');
const read = (file: string) => readFileSync(join(folder, file), 'utf8');

test('the file is valid by the schema of Compose', () => {
  const schema = JSON.parse(
    readFileSync(join(modules, 'dclint/schemas/compose.schema.json'), 'utf8'),
  );
  const validate = new Ajv2020({
    strict: false,
    validateFormats: false,
    validateSchema: false,
  }).compile(schema);
  validate(compose);
  expect(validate.errors).toBeNull();
  validate({ services: { api: { imagee: 'indelible' } } });
  expect(validate.errors).not.toBeNull();
});

test('each image but ours has a version, and each port is open on this machine alone', () => {
  for (const [name, { image, ports = [] }] of services) {
    expect(image, name).toMatch(/^indelible$|^[a-z/]+:(v?\d+\.\d+|RELEASE\.\d{4})/);
    for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:/);
  }
});

test('the service gets variables that it knows, and each secret from the file .env', () => {
  expect(ours.map(([name]) => name)).toEqual(['api', 'worker', 'migrate']);
  const known = [...documentedVariables(), 'AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY'];
  for (const [name, { environment }] of ours) {
    expect(
      Object.keys(environment).filter((variable) => !known.includes(variable)),
      name,
    ).toEqual([]);
  }
  for (const [name, { environment = {} }] of services) {
    const secret = Object.entries<string>(environment).filter(([variable]) =>
      /PASSWORD|SECRET|API_KEY|TOKEN|DATABASE/.test(variable),
    );
    for (const [variable, value] of secret)
      expect(value, `${name} ${variable}`).toMatch(/\$\{[A-Z_]+:\?\}/);
  }
});

test('with the secrets that the page makes, each of our processes accepts its environment', () => {
  const page = readFileSync(join(folder, '../docs/operations/containers.md'), 'utf8');
  const [, commands = ''] = /```sh\n(umask[^`]*?)docker compose/.exec(page) ?? [];
  const here = newFolder();
  mkdirSync(join(here, 'deploy'));
  execFileSync('sh', ['-ec', commands], { cwd: here });
  const file = join(here, 'deploy/.env');
  expect(statSync(file).mode & 0o077).toBe(0);
  const made = Object.fromEntries(
    [...readFileSync(file, 'utf8').matchAll(/^(\w+)=(.+)$/gm)].map(([, name, value]) => [
      name,
      value,
    ]),
  );
  const wanted = new Set([...text.matchAll(/\$\{([A-Z_]+):\?\}/g)].map(([, name]) => name));
  expect(Object.keys(made).sort()).toEqual([...wanted].sort());
  const given = text.replace(/\$\{([A-Z_]+):\?\}/g, (_, name) => made[name]);
  const image = Object.fromEntries(
    [...read('Dockerfile').matchAll(/(HOST|PORT|DATA_DIR)=(\S+)/g)].map(([, name, value]) => [
      name,
      value,
    ]),
  );
  for (const [name] of ours) {
    const { environment } = yaml.parse(given, { merge: true }).services[name];
    const config = readConfig({ ...image, ...environment });
    expect(config).toMatchObject({
      host: '0.0.0.0',
      port: 3000,
      objectStoreUrl: expect.stringMatching(/^s3:/),
    });
  }
});

test('our containers cannot write but to their volume, nor gain rights', () => {
  for (const [, service] of ours) {
    expect(service).toMatchObject({ read_only: true, cap_drop: ['ALL'], stop_grace_period: '60s' });
    expect(service.security_opt).toEqual(['no-new-privileges:true']);
    expect(service.volumes).toEqual(['data:/var/lib/indelible']);
  }
  const owners = ours.filter(([, { environment }]) => environment.DATABASE_OWNER_URL);
  expect(owners.map(([name]) => name)).toEqual(['worker', 'migrate']);
});

test('every mounted path exists, and names, roles and ports agree', () => {
  for (const [, { volumes = [] }] of services) {
    const [files, named] = [true, false].map((isFile) =>
      volumes
        .map((volume: string) => volume.split(':')[0])
        .filter((path: string) => path.startsWith('.') === isFile),
    );
    expect(files.filter((path: string) => !existsSync(join(folder, path)))).toEqual([]);
    expect(named.filter((name: string) => !(name in compose.volumes))).toEqual([]);
  }
  const { scrape_configs } = yaml.parse(read('compose/prometheus.yaml'));
  expect(scrape_configs[0].dns_sd_configs).toEqual([
    { names: ['api', 'worker'], type: 'A', port: 3000 },
  ]);
  expect(read('Dockerfile')).toContain('PORT=3000');
  expect(services.map(([, { command }]) => command)).toContainEqual(
    expect.arrayContaining(['api:3000']),
  );
  for (const role of ['indelible_app', 'indelible_migrator']) {
    expect(read('compose/roles.sql')).toContain(`CREATE ROLE ${role} LOGIN`);
    expect(text).toContain(`postgres://${role}:`);
  }
});

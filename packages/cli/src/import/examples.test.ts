import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runCli } from '../testing/run-cli.ts';
import { readMap } from './map-file.ts';

const folder = join(import.meta.dirname, '../../../../examples/import');

/** The third line of each example: who did what to what, and when. */
const third: Record<string, string> = {
  auth0: '2025-09-08T08:05:00.000Z auth0|56c75c4e0000000000000001 sapi application con_example',
  'azure-ad':
    '2025-09-04T10:02:30Z 5cf18192-2b02-55c9-b424-a761515ef09d update group ec9d63c0-c870-544f-8671-24053d2455d5',
  cloudtrail:
    '2025-09-01T09:10:12Z arn:aws:sts::123456789012:assumed-role/deploy/deploy-4711 putbucketpolicy aws_resource hooli-exports',
  github: '2025-09-03T08:01:15.300Z ana-ruiz protected_branch.policy_override github hooli/web',
  'google-workspace':
    '2025-09-06T11:05:00.000Z 101100000000000000001 enforce_strong_authentication security_settings hooli.example',
  kubernetes:
    '2025-09-05T06:02:00.000001Z system:serviceaccount:ci:deployer patch deployments /apis/apps/v1/namespaces/prod/deployments/web?fieldManager=ci',
  okta: '2025-09-02T07:40:10.500Z 00uana1example group.user_membership.add user 00ubea1example',
  slack: '2025-09-07T09:01:00.000Z W0ANA role_change_to_admin user W0BEA',
};

function story(event: object): string {
  const names = [
    ['timestamp'],
    ['actor', 'id'],
    ['action'],
    ['resource', 'type'],
    ['resource', 'id'],
  ];
  return names
    .map((path) => path.reduce((value, name) => Reflect.get(value, name), event))
    .join(' ');
}

test('each map of the folder is tried here', () => {
  const maps = readdirSync(folder).flatMap((file) => file.match(/(.*)\.map\.json$/)?.[1] ?? []);
  expect(maps.sort()).toEqual(Object.keys(third));
});

test.each(Object.entries(third))(
  'the map of %s takes every line of its sample',
  async (name, told) => {
    const [path, map] = [join(folder, `${name}.ndjson`), join(folder, `${name}.map.json`)];
    const lines = readFileSync(path, 'utf8').trimEnd().split('\n');
    const args = ['import', path, '--map', map, '--tenant', 'acme', '--dry-run', '--json'];
    const { status, stdout, stderr } = await runCli(args);
    expect([status, stderr]).toEqual([0, '']);
    const counts = { lines: lines.length, created: lines.length, rejected: 0 };
    expect(JSON.parse(stdout)).toMatchObject({ ...counts, conflicts: { count: 0 } });
    const event = readMap(map).eventOf(JSON.parse(lines[2] ?? ''));
    expect(story(event)).toBe(told);
  },
);

import { expect, test } from 'vitest';
import { chooseAccount } from './account.ts';

const passwd = [
  'root:x:0:0:root:/root:/bin/bash',
  'nobody:x:65534:65533:nobody:/nonexistent:/usr/sbin/nologin',
  '# a comment, and a line of NIS:',
  '+::::::',
  'postgres:x:101:104:PostgreSQL administrator,,,:/var/lib/postgresql:/bin/bash',
  '',
].join('\n');
const withoutPostgres = passwd.replace(/^postgres:.*\n/m, '');

test('PostgreSQL runs under the account postgres where there is one', () => {
  expect(chooseAccount(passwd)).toEqual({ name: 'postgres', uid: 101, gid: 104 });
});

test('PostgreSQL runs under the account nobody where there is no account postgres', () => {
  expect(chooseAccount(withoutPostgres)).toEqual({ name: 'nobody', uid: 65_534, gid: 65_533 });
});

test('an existing cluster keeps its owner, whatever accounts appear or vanish', () => {
  expect(chooseAccount(passwd, { uid: 65_534, gid: 65_533 }).name).toBe('nobody');
  expect(chooseAccount(withoutPostgres, { uid: 101, gid: 104 })).toEqual({
    name: 'uid 101',
    uid: 101,
    gid: 104,
  });
});

test('root is never chosen, whatever name it carries', () => {
  const renamed = 'postgres:x:0:0::/root:/bin/sh\nnobody:x:65534:65534::/:/bin/false';
  expect(chooseAccount(renamed, { uid: 0, gid: 0 }).name).toBe('nobody');
});

test('a system without a usable account is told what to do', () => {
  expect(() => chooseAccount('root:x:0:0:root:/root:/bin/sh')).toThrow(
    /normal user or set DATABASE_URL/,
  );
});

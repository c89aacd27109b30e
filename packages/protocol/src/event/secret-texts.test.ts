import { expect, test } from 'vitest';
import { createMasker } from './masking.ts';

const masker = createMasker();
const isMasked = (text: string) => masker.maskState({ note: [text] }).masked;

// Assembled, so that no scanner takes this file for a leak.
const inert = 'a7'.repeat(24);
const hex = '0123456789abcdef'.repeat(2);

test('a URL with a password, a token or the address of an incoming webhook is masked', () => {
  const secret = [
    'postgres://app:hunter2@db.example.com/x',
    'redis://:hunter2@cache:6379',
    'see https://ana:p%40ss@example.com/a for more',
    'sip:1001:hunter2@pbx.example.com',
    'https://example.com/reset?access_token=abc&lang=en',
    'https://example.com/#id_token=abc',
    `https://bucket.example.com/f?X-Amz-Signature=${inert}`,
    ['https://hooks.slack.com', 'services', 'T0', 'B0', 'x'].join('/'),
    ['https://discord.com/api', 'webhooks', '1', 'x'].join('/'),
  ];
  for (const text of secret) expect([text, isMasked(text)]).toEqual([text, true]);
});

test('JSON, parameters, settings and headers with a secret inside a text are masked', () => {
  const secret = [
    '{"password":"hunter2"}',
    'answer: {"user": {"newPassword" : "hunter2"',
    JSON.stringify({ body: JSON.stringify({ body: JSON.stringify({ token: 'hunter2' }) }) }),
    "{'api_key': 'hunter2'}",
    '{"pin":4711}',
    '[{"name":"Authorization","value":"abc"}]',
    'user=ana&password=hunter2',
    'Server=db;User Id=sa;Password=hunter2;',
    'DB_HOST=db\nDB_PASSWORD = hunter2',
    'Authorization: Bearer abc',
    'GET / HTTP/1.1\r\nHost: a\r\nX-Api-Key: abc\r\n',
    `curl -H "Authorization: Basic abc" https://example.com`,
    'Cookie: theme=dark; sid=abc',
    'user: ana\npassword: hunter2',
    `Bearer ${inert}`,
  ];
  for (const text of secret) expect([text, isMasked(text)]).toEqual([text, true]);
});

test('a key with a published prefix is masked, also within a text', () => {
  const prefixes =
    'npm_ ghp_ github_pat_ glpat- xoxb- sk_live_ whsec_ AKIA ASIA AIza GOCSPX- sk- hf_ shpat_ dop_v1_';
  const keys = prefixes.split(' ').map((prefix) => prefix + inert);
  const others = [`SG.${inert.slice(0, 22)}.${inert}`, `SK${hex}`, `key-${hex}`, `${hex}-us12`];
  for (const text of [...keys, ...others]) {
    expect([text, isMasked(text), isMasked(`the key ${text}, leaked`)]).toEqual([text, true, true]);
  }
});

test('texts that speak of secrets without one are kept', () => {
  const plain = [
    'Password: reset by the administrator',
    'tokens:read secrets:write',
    'arn:aws:secretsmanager:eu-west-1:1:secret:prod',
    '{"passwordPolicy":"strict","hasPassword":true,"token":null,"secret":"","password":"***"}',
    '{"name":"Accept","value":"text/html"}',
    'https://example.com/a:b@c?page=2&sort=name',
    'http://localhost:8080/@ana',
    'postgres://app:***@db/x',
    'postgres://app:{{password}}@db/x',
    'password=[FILTERED]&user=ana',
    'update users set token = ?, password = $2 where pin = :pin',
    'sip:1001@pbx.example.com:5060',
    'if (token === expected)',
    'Basic Enterprise',
    'meeting at 10:30 with mail@example.com',
    'b1946ac92492d2347c6235b4d2611184',
  ];
  for (const text of plain) expect([text, isMasked(text)]).toEqual([text, false]);
});

test('long texts, names and paths take time in proportion to their length', () => {
  for (const part of ['password.policy.', 'api.key', 'aA', '"a":', 'a =', 'sip:', '://a:']) {
    const long = part.repeat((128 * 1024) / part.length);
    const started = performance.now();
    masker.maskState({ [long]: long });
    masker.maskDiff({ [long]: { from: null, to: long } });
    // Quadratic time would be half a minute.
    expect([part, performance.now() - started < 10_000]).toEqual([part, true]);
  }
});

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { withoutCredentials } from './without-credentials.ts';

test('an answer that repeats a credential, whole or in part, in any usual spelling, is kept without it', () => {
  const [token, password] = ['s3cr3t-t0ken', 'correct horse&"battery"'];
  const answers = [
    `who is Bearer ${token}?`,
    `"${token}" is unknown`,
    `no user with ${password}`,
    JSON.stringify({ error: `no user with ${password}` }),
    `authorization was Basic ${btoa(`elastic:${password}`)}`,
    `/login?password=${encodeURIComponent(password)}`,
  ];
  for (const answer of answers) {
    const kept = withoutCredentials(answer, [`Bearer ${token}`, `elastic:${password}`]);
    expect(kept).not.toMatch(/s3cr3t|horse|battery|Y29ycm/);
    expect(kept).toContain('[credential]');
  }
});

test('no kept answer holds a credential, and an answer without one stays as it is', () => {
  fc.assert(
    fc.property(
      fc.stringMatching(/^[!-~]{12,40}$/),
      fc.string(),
      fc.string(),
      (secret, before, after) => {
        expect(withoutCredentials(`${before}${secret}${after}`, [secret])).not.toContain(secret);
      },
    ),
  );
  expect(withoutCredentials('{"errors":["Forbidden"]}', ['Bearer s3cr3t-t0ken', 'eu'])).toBe(
    '{"errors":["Forbidden"]}',
  );
  expect(withoutCredentials('anything', [])).toBe('anything');
});

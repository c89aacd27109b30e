import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { newFolder } from '@indelible/testing/folders';
import { platformKey, testService } from '@indelible/testing/service';
import { expect, test } from 'vitest';

/* The shell commands of README and guides, as they stand there, against a real service. */

const run = promisify(execFile);
const root = join(import.meta.dirname, '../../../..');
const service = await testService();
// The moment the examples are written for: their fixed dates stay within every plan they use.
service.clock.now = Date.UTC(2025, 8, 20);
// By PostgreSQL's own clock no plan keeps events of then, so the service may make no partition.
await service.owner.query('SELECT place_partition(class, $1) FROM plans', [
  new Date(service.clock.now),
]);
const url = await service.app.http.listen({ host: '127.0.0.1', port: 0 });
const folder = newFolder();
mkdirSync(join(folder, 'data'));
writeFileSync(join(folder, 'data/platform-api-key'), `${platformKey}\n`, { mode: 0o600 });

/** All shell blocks of a document but those that install, start and test, or run other programs. */
function commandsOf(document: string): string {
  const blocks = readFileSync(join(root, document), 'utf8').matchAll(/^```sh\n([\s\S]*?)^```$/gm);
  return [...blocks]
    .map(([, code = '']) => code)
    .filter((code) => !/^(npm|npx|node) /m.test(code)) // docs-recipes.test.ts runs the latter two
    .join('\n');
}

// Does what curl does, and notes the status of each answer.
const prelude = `set -euo pipefail
curl() {
  local status
  status=$(command curl -sS --noproxy '*' --max-time 20 -o answer -w '%{http_code}' "$@")
  echo "$status $(head -c 300 answer | tr -d '\\000' | tr '\\n' ' ')" >> statuses
  cat answer
}
`;

async function statusesOf(commands: string): Promise<string[]> {
  writeFileSync(join(folder, 'statuses'), '');
  writeFileSync(join(folder, 'script'), prelude + commands);
  // Without the environment of the person who runs the tests:
  // no variable of theirs stands in for one of ours.
  const env = { PATH: process.env.PATH, HOME: folder, PORT: new URL(url).port };
  await run('bash', ['script'], { cwd: folder, env, timeout: 60_000 });
  return readFileSync(join(folder, 'statuses'), 'utf8').trim().split('\n');
}

test('curl is there to run the documented commands', async () => {
  const found = await run('curl', ['--version']).then(
    () => true,
    () => false,
  );
  expect(found, 'curl is missing; install it, on Debian with: apt-get install curl').toBe(true);
});

test.each([
  ...['README.md', 'docs/quick-start.md', 'docs/recording.md', 'docs/reading.md', 'docs/access.md'],
  ...['docs/panel.md', 'docs/verification.md', 'docs/restore.md', 'docs/evidence.md'],
  ...['docs/webhooks.md', 'docs/alerts.md', 'docs/streaming.md'],
])('every command of %s works as it stands, and answers the status it states', async (document) => {
  const commands = commandsOf(document);
  const stated = [...commands.matchAll(/^# (\d{3}): (.+)$/gm)].map(([, status, says]) => ({
    status,
    says,
  }));
  // Each call has its own statement, so none can be left out of the comparison.
  expect(commands.match(/\bcurl /g)).toHaveLength(stated.length);
  const answers = await statusesOf(commands);
  const answered = answers.map((answer, index) => ({
    status: answer.slice(0, 3),
    says: stated[index]?.status === answer.slice(0, 3) ? stated[index]?.says : answer,
  }));
  expect(answered).toEqual(stated);
});

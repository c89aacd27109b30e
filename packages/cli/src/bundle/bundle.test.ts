import { execFileSync } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createClient, UnreachableError } from '@indelible/client';
import { formatVerifierKey } from '@indelible/protocol';
import { costlyRuns } from '@indelible/testing/arbitraries';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { bundleOf, forgedBundle, verifiedBundle } from '../testing/bundle-of.ts';
import { runCli } from '../testing/run-cli.ts';
import { signedAgain } from '../testing/signed-again.ts';
import { verifiedService } from '../testing/verified-service.ts';
import { sha } from '../verify/hashing.ts';
import { noProgress } from '../verify/log-source.ts';
import { reportText } from '../verify/report-text.ts';
import { SeenCheckpoints } from '../verify/seen-checkpoints.ts';
import { exportBundle } from './export-bundle.ts';

const log = await verifiedService();
const bundle = await bundleOf(log);

const lines = (content: Buffer) => content.toString().trimEnd().split('\n');
const joined = (content: readonly string[]) => `${content.join('\n')}\n`;
const eventOf = (line = '{}') => JSON.parse(line).event;

/** Verifies a copy in which the events are others, with fitting checksums. */
async function withEvents(change: (content: string[]) => string[]) {
  const forged = forgedBundle(bundle, 'events.ndjson', (content) => joined(change(lines(content))));
  return verifiedBundle(forged);
}

const original = () => lines(readFileSync(join(bundle, 'events.ndjson')));

test('a bundle made by the command is verified by the command, with no service and no network', async () => {
  const folder = join(log.folder, 'handed-over');
  const env = { INDELIBLE_URL: log.url, INDELIBLE_API_KEY: log.tenant.key };
  const args = ['export', '--tenant', log.tenant.id, '--bundle', folder, '--json'];
  const exported = await runCli(args, { env });
  expect([exported.status, JSON.parse(exported.stdout).counts]).toEqual([
    0,
    { entries: 567, events: 567 },
  ]);
  const { status, stdout } = await runCli(['verify', folder]);
  expect(status).toBe(0);
  expect(stdout).toMatch(
    /^The bundle .*handed-over, against the checkpoint\n {2}origin +localhost/,
  );
  expect(stdout).toMatch(/signed by .*\n.*a key from the bundle itself: pass it with --vkey/);
  expect(stdout).toMatch(/567 events that match the log/);
  expect(stdout).toMatch(/\nINTACT: /);
  expect(stdout).toMatch(/\nNot proven\n(.*\n)*.*shows the same log to others/);
  const again = await runCli(args, { env });
  expect([again.status, again.stderr]).toEqual([2, expect.stringContaining('exists already')]);
});

test('the files of the folder match its checksums, for any reader with sha256sum', () => {
  const checked = execFileSync('sha256sum', ['-c', '--quiet', 'SHA256SUMS'], { cwd: bundle });
  expect(checked.toString()).toBe('');
  const listed = lines(readFileSync(join(bundle, 'SHA256SUMS'))).map((line) => line.slice(66));
  const files = readdirSync(bundle, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(bundle.length + 1));
  expect(files.sort()).toEqual([...listed, 'SHA256SUMS', 'manifest.json'].sort());
  expect(readFileSync(join(bundle, 'README.txt'), 'utf8')).toContain('sha256sum -c SHA256SUMS');
});

test('a file that was damaged on the way is named', async () => {
  const copy = forgedBundle(bundle, 'checkpoint', (content) => content);
  const tile = join(copy, 'tile/entries/001');
  writeFileSync(tile, readFileSync(tile).fill(1, 100, 101));
  const report = await verifiedBundle(copy);
  expect(report.findings.byCode).toMatchObject({ file_mismatch: 1, root_mismatch: 1 });
  expect(report.findings.kept[0]?.message).toContain('tile/entries/001');
  rmSync(tile);
  const without = await verifiedBundle(copy);
  expect(without.findings.byCode).toMatchObject({ missing_file: 1, missing_entries: 1 });
  expect(without.firstDamage).toMatchObject({ sequence: 256 });
});

test('an event that was removed, added, altered or repeated is found, and named', async () => {
  const at = 100;
  const line = original()[at] ?? '';
  const { sequence, id: eventId } = eventOf(line);
  const removed = await withEvents((all) => all.toSpliced(at, 1));
  expect(removed.findings.byCode).toEqual({ missing_body: 1 });
  expect(removed.firstDamage).toMatchObject({ sequence, eventId });
  const repeated = await withEvents((all) => all.toSpliced(at, 0, line));
  expect(repeated.findings.byCode).toEqual({ repeated_body: 1 });
  const altered = await withEvents((all) =>
    all.with(at, line.replace('"n":{"from"', '"m":{"from"')),
  );
  expect(altered.findings.byCode).toEqual({ content_mismatch: 1 });
  expect(altered.firstDamage).toMatchObject({ sequence, eventId });
  const forgedId = `${eventId.slice(0, -1)}${eventId.endsWith('0') ? '1' : '0'}`;
  const text = reportText(altered);
  expect(text).toContain(`\nThe first damage: sequence ${sequence}, ${eventId}, of `);
  expect(text).toContain(
    `\n  - content_mismatch: event ${eventId}, sequence ${sequence}, does not match`,
  );
  const added = await withEvents((all) => [...all, line.replace(eventId, forgedId)]);
  expect(added.findings.byCode).toEqual({ other_event: 1 });
  expect(added.firstDamage).toMatchObject({ sequence, eventId: forgedId, loggedEventId: eventId });
  const beyond = await withEvents((all) => [
    ...all,
    line.replace(`"sequence":${sequence},`, '"sequence":567,'),
  ]);
  expect(beyond.findings.byCode).toEqual({ beyond_checkpoint: 1 });
});

/** A copy without some events, of which the manifest says these things. */
const without = (count: number, more: Record<string, unknown>) =>
  forgedBundle(
    bundle,
    'events.ndjson',
    (content) => {
      const rest = lines(content).slice(count);
      return rest.length === 0 ? '' : joined(rest);
    },
    more,
  );

const daysAgo = (days: number) => new Date(log.service.clock.now - days * 86_400_000).toISOString();

test('events cannot be explained away by a cutoff, a plan or a date that the manifest states', async () => {
  // The tenant's own record that its plan is Enterprise is among the events that are left.
  const cutoff = daysAgo(30);
  const exceeded = await verifiedBundle(without(50, { cutoff }));
  expect(exceeded.findings.byCode).toEqual({ missing_body: 50, retention_exceeded: 1 });
  const planned = await verifiedBundle(without(50, { cutoff, plan: 'Starter' }));
  expect(planned.findings.byCode).toMatchObject({ missing_body: 50, plan_mismatch: 1 });
  const tomorrow = { madeAt: daysAgo(-365 * 8), cutoff: daysAgo(-365) };
  const dated = await verifiedBundle(without(567, tomorrow));
  expect(dated.findings.byCode).toMatchObject({ malformed_file: 1, retention_exceeded: 1 });
  const index = forgedBundle(bundle, 'retention.json', () =>
    JSON.stringify([{ sequence: 9, cutoff, size: 567 }]),
  );
  expect((await verifiedBundle(index)).findings.byCode).toEqual({ malformed_file: 1 });
});

test('a bundle without any event is never intact, whatever it says of itself', async () => {
  const empty = await verifiedBundle(without(567, { cutoff: daysAgo(30) }));
  expect(empty.result).toBe('damaged');
  const all = await verifiedBundle(without(567, { cutoff: daysAgo(-1), plan: null }));
  expect(all.findings.byCode).toMatchObject({ missing_body: expect.any(Number) });
  // Only what the shortest plan would hide is left open; the command then does not end with 0.
  const old = await verifiedBundle(without(50, { cutoff: daysAgo(30) }));
  expect(old.result).toBe('damaged');
});

test("the manifest's claims are compared with the files that are there", async () => {
  const counts = { entries: 567, events: 566 };
  const counted = forgedBundle(bundle, 'checkpoint', (content) => content, { counts });
  expect((await verifiedBundle(counted)).findings.byCode).toEqual({ malformed_file: 1 });
  const withheld = await bundleOf(log, ['identity']);
  const denied = forgedBundle(withheld, 'checkpoint', (content) => content, { withheld: [] });
  expect((await verifiedBundle(denied)).findings.byCode).toEqual({ undeclared_withholding: 1 });
});

test('a bundle signed by another key is only believed when that key is', async () => {
  const [vkey = ''] = (await verifiedBundle(bundle)).checkpoint?.signedBy ?? [];
  const pinned = await verifiedBundle(bundle, { vkeys: [vkey] });
  expect(pinned).toMatchObject({ result: 'intact', checkpoint: { keysFrom: 'pinned' } });
  const { publicKey } = generateKeyPairSync('ed25519');
  const raw = publicKey.export({ type: 'spki', format: 'der' }).subarray(-32);
  const other = formatVerifierKey(sha, pinned.checkpoint?.origin ?? '', new Uint8Array(raw));
  const report = await verifiedBundle(bundle, { vkeys: [other] });
  expect(report).toMatchObject({ result: 'damaged', checkpoint: null });
  expect(report.findings.byCode).toEqual({ unknown_key: 1 });
});

test('a bundle agrees with the checkpoints of its log that this machine verified before', async () => {
  const state = join(log.folder, 'verifying-machine');
  const seen = new SeenCheckpoints(state, log.tenant.id);
  await log.verify({ seen });
  const verified = () => runCli(['verify', bundle, '--state', state, '--json']);
  const same = JSON.parse((await verified()).stdout);
  expect([same.result, same.follows.join()]).toEqual([
    'intact',
    expect.stringContaining('match the checkpoint of size 567 that was verified before'),
  ]);
  const { origin } = same.checkpoint;
  seen.add(signedAgain(log, { origin, size: 300, root: new Uint8Array(32) }), new Date());
  const rewritten = await verified();
  expect(rewritten.status).toBe(1);
  expect(JSON.parse(rewritten.stdout)).toMatchObject({
    findings: { byCode: { earlier_root_mismatch: 1 } },
    firstDamage: { sequence: 0, lastSequence: 299 },
  });
});

test('a bundle of another log than this machine verified says so', async () => {
  const seen = new SeenCheckpoints(join(log.folder, 'of-another-log'), log.tenant.id);
  const origin = `localhost/l/${'0'.repeat(32)}`;
  seen.add(signedAgain(log, { origin, size: 300, root: new Uint8Array(32) }), new Date());
  const { result, doesNotFollow } = await verifiedBundle(bundle, { seenOf: () => seen.load() });
  expect([result, doesNotFollow.join()]).toEqual([
    'intact',
    expect.stringContaining(`That this is the log ${origin}, of which this machine verified 300`),
  ]);
});

test('withheld values are nowhere in the folder, and the rest still verifies', async () => {
  const withheld = await bundleOf(log, ['identity', 'change', 'state']);
  const report = await verifiedBundle(withheld);
  expect(report.result).toBe('intact');
  expect(report.checked.bodies).toMatchObject({
    intact: 567,
    withheld: { change: 567, identity: 567 },
  });
  expect(report.doesNotFollow.join()).toContain('What identity said in 567 events');
  const events = readFileSync(join(withheld, 'events.ndjson'), 'utf8');
  for (const secret of ['@', 'Mozilla', '203.0.113.7', 'Hola', 'ticket', 'cmd|']) {
    expect(events).not.toContain(secret);
  }
  expect(events).toContain('"action":"update"');
});

test('a withheld part that is shown all the same, or another event shown for it, is found', async () => {
  const withheld = await bundleOf(log, ['identity']);
  const shown = forgedBundle(withheld, 'events.ndjson', (content) =>
    content.toString().replace('"email":null', '"email":"eve@example.com"'),
  );
  expect((await verifiedBundle(shown)).findings.byCode).toEqual({ malformed_body: 1 });
  const forged = forgedBundle(withheld, 'events.ndjson', (content) =>
    content.toString().replace(/"identity":"[0-9a-f]{64}"/, `"identity":"${'0'.repeat(64)}"`),
  );
  expect((await verifiedBundle(forged)).findings.byCode).toEqual({ content_mismatch: 1 });
});

test('an export that was cut off anywhere is continued, and comes out the same', async () => {
  const folder = join(log.folder, 'cut-off');
  const whole = readFileSync(join(bundle, 'events.ndjson'));
  for (let calls = 1; !existsSync(folder); calls += 3) {
    let left = calls;
    const fetchSome: typeof fetch = (...args) => {
      left -= 1;
      return left < 0 ? Promise.reject(new TypeError('cut off')) : fetch(...args);
    };
    const { id: tenantId, key } = log.tenant;
    const client = createClient({ url: log.url, key, tenantId, attempts: 1, fetch: fetchSome });
    await exportBundle(client, { tenantId, folder, withhold: [], progress: noProgress }).catch(
      (error: unknown) => expect(error).toBeInstanceOf(UnreachableError),
    );
  }
  expect(existsSync(`${folder}.part`)).toBe(false);
  expect(readFileSync(join(folder, 'events.ndjson')).equals(whole)).toBe(true);
  expect((await verifiedBundle(folder)).result).toBe('intact');
});

test('the beginning of another export is not continued', async () => {
  const folder = join(log.folder, 'other');
  const { id: tenantId, key } = log.tenant;
  const withoutEvents: typeof fetch = (address, init) =>
    String(address).includes('/entries')
      ? Promise.reject(new TypeError('cut off'))
      : fetch(address, init);
  const fetched = { url: log.url, key, tenantId, attempts: 1, fetch: withoutEvents };
  const client = createClient(fetched);
  const options = { tenantId, folder, progress: noProgress };
  await expect(exportBundle(client, { ...options, withhold: [] })).rejects.toThrow(
    UnreachableError,
  );
  const other = exportBundle(client, { ...options, withhold: ['identity'] });
  await expect(other).rejects.toThrow(/belongs to another export/);
});

test('a changed byte in any file is found, wherever it is, and no byte breaks the verifier', async () => {
  const files = readdirSync(bundle, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(bundle.length + 1));
  const copy = forgedBundle(bundle, 'checkpoint', (content) => content);
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...files), fc.nat(), fc.nat(254), async (name, at, change) => {
      const path = join(copy, name);
      const content = readFileSync(path);
      const flipped = Buffer.from(content);
      flipped[at % content.length] = ((content[at % content.length] ?? 0) + 1 + change) % 256;
      writeFileSync(path, flipped);
      const report = await verifiedBundle(copy).finally(() => writeFileSync(path, content));
      // What the manifest says of itself is proven by nothing.
      if (name !== 'manifest.json') expect(report.result, `${name} ${at}`).toBe('damaged');
    }),
    costlyRuns,
  );
});

test('a folder that is no bundle is wrong usage; a broken manifest is a finding', async () => {
  const { status, stderr } = await runCli(['verify', log.folder]);
  expect([status, stderr]).toEqual([2, expect.stringContaining('has no manifest.json')]);
  const broken = forgedBundle(bundle, 'checkpoint', (content) => content);
  writeFileSync(join(broken, 'manifest.json'), '{"format":"indelible-bundle/v2"}');
  expect((await verifiedBundle(broken)).findings.byCode).toEqual({ malformed_file: 1 });
});

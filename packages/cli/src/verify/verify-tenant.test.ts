import { generateKeyPairSync } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { formatVerifierKey } from '@indelible/protocol';
import { recordAll } from '@indelible/testing/event-pool';
import { eventOf, platformKey } from '@indelible/testing/service';
import { expect, test } from 'vitest';
import { runCli } from '../testing/run-cli.ts';
import { signingNothing, verifiedService } from '../testing/verified-service.ts';
import { sha } from './hashing.ts';
import { reportText } from './report-text.ts';

const log = await verifiedService();
const env = {
  INDELIBLE_URL: log.url,
  INDELIBLE_API_KEY: log.tenant.key,
  XDG_STATE_HOME: log.folder,
};

test('the command says what was checked, against what, what follows and what does not', async () => {
  const { status, stdout, stderr } = await runCli(['verify', log.tenant.id], { env });
  expect([status, stderr]).toEqual([0, '']);
  expect(stdout).toMatch(/^The log of tenant [0-9a-f-]{36}, against the checkpoint\n/);
  expect(stdout).toMatch(/\n {2}size {9}567 entries\n {2}root {9}[A-Za-z0-9+/]{43}=\n/);
  expect(stdout).toMatch(/\n {2}signed by {4}localhost\/l\/[0-9a-f]{32}\+[0-9a-f]{8}\+/);
  expect(stdout).toContain('a key from the service itself: pass it with --vkey');
  expect(stdout).toContain('none: this machine has not verified this log before');
  expect(stdout).toContain('567 events that match the log');
  expect(stdout).toMatch(/\nINTACT: Against checkpoint localhost\/l\/\S+ of size 567: /);
  expect(stdout).toMatch(/\nIt follows\n/);
  expect(stdout).toMatch(/\nNot proven\n {2}- That the events tell the truth/);
});

test('the checkpoint is kept for this user alone, and the next run is held against it', async () => {
  const folder = join(log.folder, 'indelible', 'checkpoints');
  const kept = join(folder, `${log.tenant.id}.json`);
  expect([statSync(folder).mode & 0o777, statSync(kept).mode & 0o777]).toEqual([0o700, 0o600]);
  const [{ note }] = JSON.parse(readFileSync(kept, 'utf8')).checkpoints;
  const { stdout } = await runCli(['verify', log.tenant.id, '--json'], { env });
  const report = JSON.parse(stdout);
  expect(report.checkpoint.note).toBe(note);
  expect(report.seenBefore).toMatchObject({ size: 567 });
  expect(report.follows).toContainEqual(expect.stringContaining('The first 567 of them match'));
});

test('events that are newer than the checkpoint are counted, held against their entries, and not claimed', async () => {
  await recordAll(log.service, log.tenant.key, [eventOf(), eventOf(), eventOf()]);
  const report = await log.verify({ fetch: signingNothing });
  expect(report).toMatchObject({ result: 'intact', checkpoint: { size: 567 } });
  expect(report.checked).toMatchObject({ bodies: { newer: 3 }, newer: { events: 3, size: 570 } });
  expect(report.doesNotFollow).toContain('Anything about 3 events recorded since.');
  expect(reportText(report)).toContain('3 events recorded since: each has an entry, up to 570');
});

test('a just recorded event is signed before it is verified', async () => {
  const report = await log.verify();
  expect(report).toMatchObject({ result: 'intact', checkpoint: { size: 570 } });
  expect(report.checked.newer).toBeUndefined();
});

test('a log of few events is verified like any other', async () => {
  const small = await log.service.tenant();
  await log.service.app.checkpoints.onDemand();
  expect(await log.verify({ of: small })).toMatchObject({
    result: 'intact',
    checked: { entries: 2 },
  });
});

test('an operator must say why, and the log then has one record of the whole run', async () => {
  const operator = { ...env, INDELIBLE_API_KEY: platformKey };
  const refused = await runCli(['verify', log.tenant.id], { env: operator });
  expect([refused.status, refused.stderr]).toEqual([
    2,
    expect.stringMatching(/--reason.*reason_required/),
  ]);
  const args = ['verify', log.tenant.id, '--reason', 'audit 2026', '--json'];
  const { status, stdout, stderr } = await runCli(args, { env: operator });
  expect(status).toBe(0);
  expect(stderr).toContain("this is recorded in the tenant's log");
  expect(JSON.parse(stdout)).toMatchObject({ result: 'intact' });
  const { body } = await log.service.call({
    url: `/api/audit-logs?resource_id=${log.tenant.id}&include=state&sort=sequence&limit=500`,
    key: log.tenant.key,
  });
  const looks = body.data.filter(({ reason }: { reason: string }) => reason === 'audit 2026');
  expect(looks.map(({ after }: { after: object }) => after)).toEqual([
    { outcome: 'answered', lookedAt: 'log', emailAttestedBy: null },
  ]);
});

test('the log has one record of the whole export of a bundle, which holds what came before it', async () => {
  const folder = join(log.folder, 'by-an-operator');
  const reason = 'handed to the auditor';
  const args = ['export', '--tenant', log.tenant.id, '--bundle', folder, '--reason', reason];
  const operator = { ...env, INDELIBLE_API_KEY: platformKey };
  const { status, stdout } = await runCli([...args, '--json'], { env: operator });
  expect(status).toBe(0);
  const { body } = await log.service.call({
    url: `/api/audit-logs?resource_id=${log.tenant.id}&include=state&sort=sequence&limit=500`,
    key: log.tenant.key,
  });
  const looks = body.data.filter((event: { reason: string }) => event.reason === reason);
  expect(looks).toMatchObject([{ after: { lookedAt: 'log' } }]);
  expect(JSON.parse(stdout).counts.entries).toBe(looks[0].sequence);
});

test("another tenant's key, a service that is away and a wrong subject are not findings", async () => {
  const { key } = await log.service.tenant();
  const other = await runCli(['verify', log.tenant.id], {
    env: { ...env, INDELIBLE_API_KEY: key },
  });
  expect([other.status, other.stderr]).toEqual([2, expect.stringContaining('another tenant')]);
  const away = { ...env, INDELIBLE_URL: 'http://127.0.0.1:9' };
  expect((await runCli(['verify', log.tenant.id], { env: away })).status).toBe(3);
  for (const args of [
    [],
    ['nothing'],
    [log.tenant.id, '--action', 'update'],
    [log.tenant.id, '--vkey', 'x'],
  ]) {
    expect((await runCli(['verify', ...args], { env })).status, args.join()).toBe(2);
  }
});

test('a pinned key is the only one that counts', async () => {
  const { checkpoint } = await log.verify();
  const [vkey = ''] = checkpoint?.signedBy ?? [];
  const pinned = await log.verify({ vkeys: [vkey] });
  expect(pinned).toMatchObject({ result: 'intact', checkpoint: { keysFrom: 'pinned' } });
  const { publicKey } = generateKeyPairSync('ed25519');
  const raw = new Uint8Array(publicKey.export({ type: 'spki', format: 'der' }).subarray(-32));
  const other = formatVerifierKey(sha, checkpoint?.origin ?? '', raw);
  const report = await log.verify({ vkeys: [other] });
  expect(report).toMatchObject({ result: 'damaged', checkpoint: null, firstDamage: null });
  expect(report.findings.byCode).toEqual({ unknown_key: 1 });
});

test('a log that is gone where this machine has seen one is a finding, not a wrong name', async () => {
  const lost = await log.service.tenant();
  await log.service.app.checkpoints.onDemand();
  expect((await log.verify({ of: lost })).result).toBe('intact');
  await log.service.owner.query(`DELETE FROM log_heads WHERE tenant_id = '${lost.id}'`);
  const report = await log.verify({ of: lost });
  expect(report).toMatchObject({ result: 'damaged', checkpoint: null });
  expect(report.findings.byCode).toEqual({ missing_log: 1 });
  expect(JSON.stringify(report.findings)).toContain(`${lost.id}.json remembers it`);
  await expect(log.verify({ of: lost }, 'another machine')).rejects.toThrow(/there is no such log/);
});

test('a key that was out of use when the last entry was made is not believed', async () => {
  const stated: typeof fetch = async (url, init) => {
    const answer = await fetch(url, init);
    if (!String(url).includes('/.well-known/')) return answer;
    const { origin, keys } = (await answer.json()) as { origin: string; keys: object[] };
    const notAfter = new Date(log.service.clock.now - 86_400_000).toISOString();
    return Response.json({
      origin,
      keys: keys.map((key) => ({ ...key, notBefore: notAfter, notAfter })),
    });
  };
  const report = await log.verify({ fetch: stated });
  expect(report.findings.byCode).toEqual({ retired_key: 1 });
});

test('an answer that never ends is refused while it is read', async () => {
  const endless: typeof fetch = (url, init) =>
    String(url).endsWith('/checkpoint')
      ? Promise.resolve(
          new Response(
            new ReadableStream({
              pull(controller) {
                controller.enqueue(new Uint8Array(65_536));
              },
            }),
            { headers: { 'content-type': 'text/plain' } },
          ),
        )
      : fetch(url, init);
  await expect(log.verify({ fetch: endless })).rejects.toThrow(/longer than 65536 bytes/);
});

test('a service that states every size of its log is not asked for ever', async () => {
  const stated: typeof fetch = (url, init) =>
    String(url).includes('/consistency?')
      ? Promise.resolve(Response.json({ path: [] }))
      : fetch(url, init);
  const { result, findings } = await log.verify({ fetch: stated });
  expect(result).toBe('damaged');
  expect(findings.byCode.missing_entries).toBe(1);
});

test('an entry tile of another length is a finding, wherever it is read', async () => {
  const shortAt = (shortRead: number) => {
    let reads = 0;
    const answered: typeof fetch = async (url, init) => {
      const answer = await fetch(url, init);
      if (!/tile\/entries\/002\.p/.test(String(url))) return answer;
      reads += 1;
      if (reads !== shortRead) return answer;
      const headers = { 'content-type': answer.headers.get('content-type') ?? '' };
      return new Response((await answer.arrayBuffer()).slice(1), { headers });
    };
    return log.verify({ fetch: answered });
  };
  // Up to the checkpoint, and behind it.
  for (const report of [await shortAt(1), await shortAt(2)]) {
    expect(report.result).toBe('damaged');
    expect(report.findings.byCode.malformed_tile).toBe(1);
  }
});

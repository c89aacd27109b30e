import { cpSync, existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type OwnService, withOwnService } from '@indelible/server';
import { rewindable } from '@indelible/testing/rewindable';
import { expect, test } from 'vitest';
import { roundName } from '../../../server/src/log/round.ts';
import { reopenLog } from '../../../server/src/operations/reopen.command.ts';
import { checkInstallation } from '../fsck/check-installation.ts';
import { RunFile } from '../fsck/fsck-report.ts';
import { keepTables, restoreTables } from '../testing/damage.ts';
import { runCli } from '../testing/run-cli.ts';
import { noProgress } from '../verify/log-source.ts';

type Service = Awaited<ReturnType<typeof rewindable>>;

/** Runs the command as the owner; its report, and the codes of its findings. */
async function fsck({ env }: Pick<Service, 'env'>, ...options: string[]) {
  const given = { env: env as Record<string, string> };
  const { status, stdout, stderr } = await runCli(['fsck', '--json', ...options], given);
  expect(stdout, stderr).not.toBe('');
  const report = JSON.parse(stdout);
  const codes: string[] = report.findings.kept.map((each: { code: string }) => each.code);
  return { status, report, codes };
}

/** Two tenants, the second with a full tile and a tail of 5, published in two rounds. */
async function installation() {
  const service = await rewindable();
  const tenants = [await service.tenant(), await service.tenant()];
  tenants.sort((a, b) => (a.id < b.id ? -1 : 1));
  const [first, second] = tenants;
  if (!first || !second) throw new Error('there are two');
  await service.record(first.key, 3);
  await service.tick();
  await service.record(second.key, 259);
  await service.tick();
  return { ...service, first, second };
}

test('a sound installation is found sound, and nothing is recorded or signed for it', async () => {
  const service = await installation();
  await service.record(service.first.key, 1); // not published yet
  const stored = async () => {
    const { rows } = await service.owner.query('SELECT * FROM log_heads, log_rounds ORDER BY 1');
    return [rows, await service.objects.list('checkpoints')];
  };
  const before = await stored();
  const { status, report } = await fsck(service);
  expect(report).toMatchObject({
    result: 'intact',
    logs: { checked: 2, entries: 267, unpublished: 0, unproven: 0, damaged: 0 },
    rounds: { checked: 2, checkpoints: 3 },
    findings: { count: 0, kept: [] },
  });
  expect(status).toBe(0);
  expect(await stored()).toEqual(before);
  const { stdout } = await runCli(['fsck'], { env: service.env as Record<string, string> });
  expect(stdout).toMatch(/^Logs +2, with 267 entries: 0 damaged\nRounds +2, with 3 checkpoints\n/);
});

const own = (sequence: number) => `WHERE tenant_id = $1 AND sequence = ${sequence}`;
const flip = (column: string, byte: number) =>
  `${column} = set_byte(${column}, ${byte}, get_byte(${column}, ${byte}) # 4)`;

/**
 * What is done to the log of the second tenant, and a finding that tells of it. Of what `verify`
 * finds, a part: damage.test.ts and damage-to-log.test.ts have all.
 */
const damages: Record<string, [string, string]> = {
  'an event is changed': [`UPDATE audit_events SET reason = 'x' ${own(7)}`, 'content_mismatch'],
  'an event has lost its context': [
    `UPDATE audit_events SET context = null, context_identity = null,
      salts = substr(salts, 1, 48) ${own(8)}`,
    'content_mismatch',
  ],
  'an entry of the tail is changed': [
    `UPDATE log_tail SET ${flip('entry', 59)} ${own(258)}`,
    'wrongly_stored',
  ],
  'an entry of a tile is changed': [
    `UPDATE log_tiles SET ${flip('data', 6_059)} WHERE tenant_id = $1`,
    'root_mismatch',
  ],
  'the hash of a tile is changed': [
    `UPDATE log_tiles SET ${flip('hash', 3)} WHERE tenant_id = $1`,
    'contradicted',
  ],
  'an entry of the tail is missing': [`DELETE FROM log_tail ${own(258)}`, 'missing_entries'],
  'a tile is missing': ['DELETE FROM log_tiles WHERE tenant_id = $1', 'missing_entries'],
  'a tile stands where none belongs': [
    `INSERT INTO log_tiles SELECT tenant_id, 1, 0, hash, decode(repeat('00', 8192), 'hex') FROM log_tiles WHERE tenant_id = $1`,
    'wrongly_stored',
  ],
  'an entry stands behind the end': [
    `INSERT INTO log_tail SELECT tenant_id, 261, entry FROM log_tail ${own(260)}`,
    'wrongly_stored',
  ],
  'the head is gone': ['DELETE FROM log_heads WHERE tenant_id = $1', 'wrongly_stored'],
  'the head has lost entries': [
    `UPDATE log_heads SET size = 256, frontier = (SELECT hash FROM log_tiles WHERE tenant_id = $1)
      WHERE tenant_id = $1`,
    'wrongly_stored',
  ],
  'the frontier of the head is changed': [
    `UPDATE log_heads SET ${flip('frontier', 3)} WHERE tenant_id = $1`,
    'wrongly_stored',
  ],
  'the checkpoint is changed': [
    `UPDATE log_checkpoints SET note = replace(note, E'\\n261\\n', E'\\n260\\n') WHERE tenant_id = $1`,
    'changed_checkpoints',
  ],
  'the log has another id': [
    'UPDATE log_heads SET log_id = gen_random_uuid() WHERE tenant_id = $1',
    'wrongly_stored',
  ],
};

test('every damage to any log is found, and its tenant is named', async () => {
  const service = await installation();
  const { owner, second } = service;
  await keepTables(owner);
  const check = (own: OwnService) =>
    checkInstallation(own, { run: new RunFile(null), plans: undefined, progress: noProgress });
  await withOwnService(service.env, async (own) => {
    for (const [name, [sql, code]] of Object.entries(damages)) {
      expect((await owner.query(sql, [second.id])).rowCount, name).toBeGreaterThan(0);
      const { result, findings } = await check(own);
      expect(result, name).toBe('damaged');
      expect(
        findings.kept.map((each) => each.code),
        name,
      ).toContain(code);
      expect(JSON.stringify(findings.kept), name).toContain(second.id);
      await restoreTables(owner);
    }
    expect((await check(own)).result).toBe('intact');
  });
  await owner.query('DELETE FROM log_tail');
  expect((await fsck(service)).status).toBe(1);
});

test('damage to the published rounds is found', async () => {
  const service = await installation();
  const path = (round: number) => join(service.store, roundName(round));
  await service.record(service.first.key, 1);
  await service.tick();
  cpSync(path(2), `${path(2)}.kept`);
  rmSync(path(2));
  expect((await fsck(service)).codes).toEqual(['missing_round', 'incomplete']);
  writeFileSync(path(2), '{"round":2}');
  expect((await fsck(service)).codes).toEqual(['foreign_round', 'incomplete']);
  cpSync(`${path(2)}.kept`, path(2));
  rmSync(`${path(2)}.kept`);
  writeFileSync(path(999_999_999_999), 'as far behind as there are numbers');
  expect((await fsck(service)).codes).toEqual(['foreign_round']);
  rmSync(path(999_999_999_999));
  expect((await fsck(service)).codes).toEqual([]);
});

test('rounds that a key signed of which the database does not know are found', async () => {
  const service = await installation();
  const backup = await service.backups.take();
  const rotated = await service.process({ SIGNING_KEY_FILE: service.newKeyFile() });
  await rotated.checkpoints.tick(); // announces the key
  await service.backups.restore(backup);
  const { status, codes } = await fsck(service);
  expect([status, codes]).toEqual([1, expect.arrayContaining(['newer_key'])]);
});

/** Two futures of a log, each signed by a service that could not see the other. */
async function forked(count: number) {
  const service = await installation();
  const { backups, first, store } = service;
  const backup = await backups.take();
  await service.record(first.key, 5);
  await service.tick();
  const aside = join(service.dataDir, 'aside.json');
  cpSync(join(store, roundName(3)), aside);
  rmSync(join(store, roundName(3)));
  await backups.restore(backup);
  const app = await service.process();
  for (const part of [1, count]) {
    await service.record(first.key, part);
    await app.checkpoints.tick();
  }
  cpSync(aside, join(store, roundName(3)));
  return service;
}

test.each([
  ['which shrinks', 2, ['forked']],
  ['although it only grows', 9, []],
])('a fork that was signed is found, %s', async (_, count, more) => {
  const service = await forked(count);
  const { status, codes } = await fsck(service);
  expect(status).toBe(1);
  expect(codes.sort()).toEqual(['contradicted', ...more].sort());
});

test('a log that was reopened after a restore is sound, with what was published before', async () => {
  const service = await installation();
  const { backups, first, env } = service;
  const backup = await backups.take();
  await service.record(first.key, 5);
  await service.tenant(); // of whom nothing will be left
  await service.tick();
  await backups.restore(backup);
  expect((await fsck(service)).codes.sort()).toEqual(['contradicted', 'missing_log']);
  await service.tick();
  expect((await fsck(service)).codes).toContain('halted');
  // The two of its tenants, and the log that is lost.
  expect(await reopenLog(env)).toHaveLength(3);
  await service.record(first.key, 9);
  await service.tick();
  expect(await fsck(service)).toMatchObject({ status: 0, codes: [] });
});

test('a run that was interrupted continues behind the last log that it checked', async () => {
  const service = await installation();
  const { env, owner, first, second, dataDir } = service;
  await owner.query(`UPDATE audit_events SET reason = 'x' ${own(1)}`, [first.id]);
  const file = join(dataDir, 'run.json');
  const interrupted = withOwnService(env, (own) => {
    const damageOf = async (tenantId: string) => {
      if (tenantId === second.id) throw new Error('interrupted');
      return own.logs.damageOf(tenantId);
    };
    const logs = { ...own.logs, damageOf };
    const options = { run: new RunFile(file), plans: undefined, progress: noProgress };
    return checkInstallation({ ...own, logs }, options);
  });
  await expect(interrupted).rejects.toThrow('interrupted');
  // What is found is kept, though it is mended meanwhile: it was not read again.
  await owner.query(`UPDATE audit_events SET reason = NULL ${own(1)}`, [first.id]);
  const { report, codes } = await fsck(service, '--resume', file);
  expect(report.logs).toMatchObject({ checked: 2, damaged: 1 });
  expect(codes).toEqual(['content_mismatch']);
  expect(existsSync(file)).toBe(false);
  writeFileSync(file, 'something else');
  const refused = await runCli(['fsck', '--resume', file], { env: env as Record<string, string> });
  expect([refused.status, refused.stderr]).toEqual([
    2,
    `indelible: ${file} is not a file of indelible fsck --resume\n`,
  ]);
});

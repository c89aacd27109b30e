import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createFrontier, emptyLogState, entryBytes, leafHash } from '@indelible/protocol';
import { beforeEach, expect, test } from 'vitest';
import { type Damage, damageOf } from '../testing/damage.ts';
import { signedAgain } from '../testing/signed-again.ts';
import { stateEvent, type VerifiedService, verifiedService } from '../testing/verified-service.ts';
import { sha } from './hashing.ts';
import { reportText } from './report-text.ts';
import { SeenCheckpoints } from './seen-checkpoints.ts';

/* Logs that agree with themselves, and not with what this machine has seen: nothing else tells. */

let log: VerifiedService;
let damage: Damage;
let own: string;
beforeEach(async () => {
  log = await verifiedService();
  damage = await damageOf(log);
  own = `tenant_id = '${log.tenant.id}'`;
});

/** Records one event. */
async function record(index: number): Promise<string> {
  const { service, tenant } = log;
  const body = stateEvent(index, service.clock.now - index);
  const call = { method: 'POST', url: '/api/audit-logs', key: tenant.key, body } as const;
  return (await service.call(call)).body.id;
}

/** Records one event and publishes a checkpoint that covers it. */
async function grow(index: number): Promise<string> {
  const id = await record(index);
  await log.service.app.checkpoints.tick();
  return id;
}

/**
 * Signs the first entries as they are now, as an attacker
 * with the key who avoids the service's own rounds.
 */
async function publishByHand(size: number): Promise<void> {
  const { rows } = await log.service.owner.query<{ origin: string }>(
    `SELECT replace(log_id::text, '-', '') AS origin FROM log_heads WHERE ${own}`,
  );
  const origin = `localhost/l/${rows[0]?.origin}`;
  const { root } = treeOf(await entriesOf(size));
  const note = signedAgain(log, { origin, size, root });
  await log.service.owner.query(
    `UPDATE log_checkpoints SET size = $1, root = $2, note = $3, log_id =
      (SELECT log_id FROM log_heads h WHERE h.${own}) WHERE ${own}`,
    [size, Buffer.from(root), note],
  );
}

/** The first entries of the log as they are stored. */
async function entriesOf(count: number): Promise<Buffer> {
  const { owner } = log.service;
  const { rows } = await owner.query<{ data: Buffer }>(
    `SELECT data FROM (SELECT index * 256 AS first, data FROM log_tiles WHERE ${own} AND level = 0
      UNION ALL SELECT sequence, entry FROM log_tail WHERE ${own}) e ORDER BY first`,
  );
  return Buffer.concat(rows.map(({ data }) => data)).subarray(0, count * entryBytes);
}

function treeOf(entries: Buffer) {
  const tree = createFrontier(emptyLogState, sha);
  for (let at = 0; at < entries.length; at += entryBytes) {
    tree.append(leafHash(sha, entries.subarray(at, at + entryBytes)));
  }
  return { root: tree.root(), frontier: Buffer.from(tree.state().frontier) };
}

/** Cuts the log off behind `size` entries, so that everything stored agrees, and signs it again. */
async function truncate(size: number): Promise<void> {
  const { owner } = log.service;
  const entries = await entriesOf(size);
  const { frontier } = treeOf(entries);
  const tiled = Math.floor(size / 256);
  await owner.query(`DELETE FROM audit_events WHERE ${own} AND sequence >= ${size}`);
  await owner.query(`DELETE FROM log_tail WHERE ${own}`);
  await owner.query(`DELETE FROM log_tiles WHERE ${own} AND index >= ${tiled}`);
  for (let sequence = tiled * 256; sequence < size; sequence += 1) {
    const entry = entries.subarray(sequence * entryBytes, (sequence + 1) * entryBytes);
    await owner.query('INSERT INTO log_tail VALUES ($1, $2, $3)', [log.tenant.id, sequence, entry]);
  }
  await owner.query(`UPDATE log_heads SET size = $1, frontier = $2 WHERE ${own}`, [size, frontier]);
  await publishByHand(size);
}

const seenBy = (machine: string) => new SeenCheckpoints(join(log.folder, machine), log.tenant.id);

/** A checkpoint of the log's first entries, as they are. */
async function noteOf(size: number): Promise<string> {
  const origin = seenBy('state').load()[0]?.checkpoint.origin ?? '';
  return signedAgain(log, { origin, size, root: treeOf(await entriesOf(size)).root });
}

test('a log that was cut off and grew again is not said to be the same up to where it is signed', async () => {
  for (const index of [1, 2, 3]) await grow(index);
  expect((await log.verify()).checkpoint?.size).toBe(570);
  const lastSeen = seenBy('state').load().at(-1)?.note ?? '';
  await damage.restore();
  await record(4);
  await publishByHand(568);
  seenBy('grown').add(await noteOf(567), new Date());
  seenBy('grown').add(lastSeen, new Date());
  const report = await log.verify({}, 'grown');
  expect(report.findings.byCode).toEqual({ rolled_back: 1 });
  expect(report.firstDamage).toMatchObject({ sequence: 567, lastSequence: 568 });
});

test('a log that was cut off and signed again is found by a reader who has seen it longer', async () => {
  const lastSeen = seenBy('state').load().at(-1)?.note ?? '';
  await truncate(300);
  const report = await log.verify();
  expect(report.findings.byCode).toEqual({ rolled_back: 1 });
  // Whether the 300 that are left are the same, a root of 567 does not tell; one of 200 tells more.
  expect(report.firstDamage).toMatchObject({ sequence: 0, lastSequence: 300 });
  const note = await noteOf(200);
  seenBy('two').add(note, new Date());
  seenBy('two').add(lastSeen, new Date());
  const narrower = await log.verify({}, 'two');
  expect(narrower.firstDamage).toMatchObject({ sequence: 200, lastSequence: 300 });
  // A reader without an earlier checkpoint cannot tell: that is why checkpoints are kept.
  expect((await log.verify({}, 'another machine')).result).toBe('intact');
  expect((await log.verify()).result).toBe('damaged');
});

test('a log that was forked for one reader is found by that reader, with the entry where it parts', async () => {
  await grow(1);
  expect((await log.verify()).result).toBe('intact');
  // A second state of the database under the same name and key: without what this reader has seen.
  await damage.restore();
  const other = await record(2);
  await publishByHand(568);
  const report = await log.verify();
  expect(report.findings.byCode).toEqual({ forked: 1, earlier_root_mismatch: 1 });
  expect(report.firstDamage).toMatchObject({ sequence: 567, lastSequence: 567, eventId: other });
  expect((await log.verify({}, 'another machine')).result).toBe('intact');
});

test('a log that goes on differently from where it was seen is found, however long it has grown', async () => {
  for (const index of [1, 2, 3]) await grow(index);
  expect((await log.verify()).seenBefore).toMatchObject({ size: 567 });
  await damage.restore();
  for (const index of [4, 5, 6, 7, 8]) await record(index);
  await publishByHand(572);
  const report = await log.verify();
  expect(report.findings.byCode).toEqual({ inconsistent: 1, earlier_root_mismatch: 1 });
  expect(report.firstDamage).toMatchObject({ sequence: 567, lastSequence: 569, eventId: null });
});

test('a log that suddenly has another name is not taken for a new one, even if that is said', async () => {
  await log.service.owner.query(`UPDATE log_heads SET log_id = gen_random_uuid() WHERE ${own}`);
  await publishByHand(567);
  const report = await log.verify();
  expect(report.findings.byCode).toEqual({ other_log: 1 });
  expect(report.summary).toMatch(/: another log than the one verified before on this machine\.$/);
  const file = join(log.folder, 'state', `${log.tenant.id}.json`);
  const message = report.findings.kept[0]?.message;
  expect(message).toContain(`with 567 entries at ${report.seenBefore?.seenAt}, kept in ${file}.`);
  expect(message).toContain('was not newly installed, its database was replaced or rewritten');
  expect(message).toContain(`was newly installed, move ${file} away`);
  expect(reportText(report)).not.toContain('first damaged entry');
  // Nor is it enough to say so: a log that was opened anew holds a record of it.
  const said = await log.verify({ reopened: true });
  expect(said.findings.byCode).toEqual({ other_log: 1 });
  expect(said.findings.kept[0]?.message).toMatch(/no record that it continues .*567 entries/);
});

test('a damaged file of seen checkpoints does not make this machine forget them', async () => {
  writeFileSync(join(log.folder, 'state', `${log.tenant.id}.json`), '{"checkpoints":[{"no');
  await expect(log.verify()).rejects.toThrow(
    /checkpoints that this machine verified, cannot be read/,
  );
});

test('damage is found and named although the service can prove nothing any more', async () => {
  await grow(1);
  const tile = `${own} AND level = 0 AND index = 1`;
  await log.service.owner.query(`UPDATE log_tiles SET hash = sha256('x') WHERE ${tile}`);
  const changed = await log.verify();
  expect(changed.findings.byCode).toEqual({ inconsistent: 1, tile_mismatch: 1 });
  expect(changed.firstDamage).toMatchObject({ sequence: 256, lastSequence: 511 });
  await log.service.owner.query(`DELETE FROM log_tiles WHERE ${tile}`);
  const missing = await log.verify();
  expect(missing.findings.byCode).toMatchObject({ inconsistent: 1, missing_entries: 2 });
  expect(missing.firstDamage).toMatchObject({ sequence: 256, lastSequence: 511 });
});

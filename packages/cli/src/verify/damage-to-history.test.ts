import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createFrontier, emptyLogState, entryBytes, leafHash } from '@indelible/protocol';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Damage, damageOf } from '../testing/damage.ts';
import { signedAgain } from '../testing/signed-again.ts';
import { stateEvent, type VerifiedService, verifiedService } from '../testing/verified-service.ts';
import { sha } from './hashing.ts';

/* Logs that agree with themselves, and not with what this machine has seen: nothing else tells. */

let log: VerifiedService;
let damage: Damage;
let own: string;
beforeEach(async () => {
  log = await verifiedService();
  damage = await damageOf(log);
  own = `tenant_id = '${log.tenant.id}'`;
});
afterEach(() => log.close());

/** Records one event and publishes a checkpoint that covers it. */
async function grow(index: number): Promise<string> {
  const { service, tenant } = log;
  const body = stateEvent(index, service.clock.now - index);
  const { id } = (
    await service.call({ method: 'POST', url: '/api/audit-logs', key: tenant.key, body })
  ).body;
  await service.app.checkpoints.tick();
  return id;
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
  const { root, frontier } = treeOf(entries);
  const { rows } = await owner.query<{ note: string }>(
    `SELECT note FROM log_checkpoints WHERE ${own}`,
  );
  const origin = rows[0]?.note.split('\n')[0] ?? '';
  const note = signedAgain(log, { origin, size, root });
  const tiled = Math.floor(size / 256);
  await owner.query(`DELETE FROM audit_events WHERE ${own} AND sequence >= ${size}`);
  await owner.query(`DELETE FROM log_tail WHERE ${own}`);
  await owner.query(`DELETE FROM log_tiles WHERE ${own} AND index >= ${tiled}`);
  for (let sequence = tiled * 256; sequence < size; sequence += 1) {
    const entry = entries.subarray(sequence * entryBytes, (sequence + 1) * entryBytes);
    await owner.query('INSERT INTO log_tail VALUES ($1, $2, $3)', [log.tenant.id, sequence, entry]);
  }
  await owner.query(`UPDATE log_heads SET size = $1, frontier = $2 WHERE ${own}`, [size, frontier]);
  const values = [size, Buffer.from(root), note];
  await owner.query(
    `UPDATE log_checkpoints SET size = $1, root = $2, note = $3 WHERE ${own}`,
    values,
  );
}

test('a log that was cut off and signed again is found by whoever has seen it longer', async () => {
  await truncate(300);
  const report = await log.verify();
  expect(report.findings.byCode).toEqual({ rolled_back: 1 });
  expect(report.firstDamage).toMatchObject({ sequence: 300, lastSequence: 300 });
  // Somebody who has seen nothing before cannot tell: that is what checkpoints are kept for.
  expect((await log.verify({}, 'another machine')).result).toBe('intact');
  expect((await log.verify()).result).toBe('damaged');
});

test('a log that was forked for one reader is found by that reader, with the entry where it parts', async () => {
  await grow(1);
  expect((await log.verify()).result).toBe('intact');
  // A second state of the database under the same name and key: without what this reader has seen.
  await damage.restore();
  const other = await grow(2);
  const report = await log.verify();
  expect(report.findings.byCode).toEqual({ forked: 1, earlier_root_mismatch: 1 });
  expect(report.firstDamage).toMatchObject({ sequence: 567, lastSequence: 567, eventId: other });
  expect((await log.verify({}, 'another machine')).result).toBe('intact');
});

test('a log that goes on differently from where it was seen is found, however long it has grown', async () => {
  for (const index of [1, 2, 3]) await grow(index);
  expect((await log.verify()).seenBefore).toMatchObject({ size: 567 });
  await damage.restore();
  for (const index of [4, 5, 6, 7, 8]) await grow(index);
  const report = await log.verify();
  expect(report.findings.byCode).toEqual({ inconsistent: 1, earlier_root_mismatch: 1 });
  expect(report.firstDamage).toMatchObject({ sequence: 567, lastSequence: 569, eventId: null });
});

test('a log that suddenly has another name is not taken for a new one, even if that is said', async () => {
  await log.service.owner.query(`UPDATE log_heads SET log_id = gen_random_uuid() WHERE ${own}`);
  await log.service.owner.query(`DELETE FROM log_checkpoints WHERE ${own}`);
  await log.service.app.checkpoints.tick();
  const report = await log.verify();
  expect(report.findings.byCode).toEqual({ other_log: 1 });
  // Nor is it enough to say so: a log that was opened anew holds a record of it.
  const said = await log.verify({ reopened: true });
  expect(said.findings.byCode).toEqual({ other_log: 1 });
  expect(said.findings.kept[0]?.message).toMatch(/no record that it goes on from .*567 entries/);
});

test('what this machine has seen is not forgotten when its file is damaged', async () => {
  writeFileSync(join(log.folder, 'state', `${log.tenant.id}.json`), '{"checkpoints":[{"no');
  await expect(log.verify()).rejects.toThrow(/what this machine has seen before, cannot be read/);
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
  expect(missing.firstDamage).toMatchObject({ sequence: 256, lastSequence: 256 });
});

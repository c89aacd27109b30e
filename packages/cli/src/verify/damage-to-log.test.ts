import { expect, test } from 'vitest';
import { damageOf } from '../testing/damage.ts';
import { runCli } from '../testing/run-cli.ts';
import { stateEvent, verifiedService } from '../testing/verified-service.ts';

const log = await verifiedService();
const damage = await damageOf(log);
const own = `tenant_id = '${log.tenant.id}'`;

/** Two full tiles and a tail of 55 entries. */
const size = 567;
const roots = ['earlier_root_mismatch', 'root_mismatch'];
/** Flips a bit of a column of bytes. */
const flip = (column: string, byte: number) =>
  `${column} = set_byte(${column}, ${byte}, get_byte(${column}, ${byte}) # 4)`;

/** A byte of each part of an entry, and what its change makes of the event at that place. */
const partsOfEntry: [number, string[]][] = [
  [0, ['content_mismatch', 'malformed_entry']],
  [9, ['derived_field_mismatch', 'receipt_goes_back']],
  [25, ['other_event']],
  [59, ['content_mismatch']],
];

test('a changed entry is found in the tail and in a tile, whichever part of it was changed', async () => {
  for (const [byte, codes] of partsOfEntry) {
    const inTail = `UPDATE log_tail SET ${flip('entry', byte)} WHERE ${own} AND sequence = 540`;
    const tail = await damage.report(inTail);
    await damage.expectFirst(tail, { first: 540, codes: [...roots, ...codes] });
    const data = flip('data', 100 * 60 + byte);
    const inTile = `UPDATE log_tiles SET ${data} WHERE ${own} AND level = 0 AND index = 1`;
    const tile = await damage.report(inTile);
    await damage.expectFirst(tile, { first: 356, codes: [...roots, 'tile_mismatch', ...codes] });
  }
});

test('entries that have changed places are found, and the first of them', async () => {
  const report = await damage.report(
    `UPDATE log_tail t SET entry = o.entry FROM log_tail o WHERE t.${own} AND o.${own}
      AND t.sequence IN (530, 540) AND o.sequence = 1070 - t.sequence`,
  );
  await damage.expectFirst(report, { first: 530, codes: [...roots, 'other_event'] });
});

test('a changed hash above the entries is found, and which entries it stands for', async () => {
  const report = await damage.report(
    `UPDATE log_tiles SET ${flip('hash', 3)} WHERE ${own} AND level = 0 AND index = 1`,
  );
  expect(report.findings.byCode).toEqual({ tile_mismatch: 1 });
  expect(report.firstDamage).toMatchObject({ sequence: 256, lastSequence: 511, eventId: null });
});

test('a missing row of the tail or of the tiles is found, and the tile that has it', async () => {
  const rows: [string, number, number][] = [
    ['log_tail WHERE sequence = 566', 512, 566],
    ['log_tail WHERE sequence = 540', 512, 566],
    ['log_tiles WHERE index = 1', 256, 511],
    ['log_tiles WHERE index = 0', 0, 255],
  ];
  for (const [row, sequence, lastSequence] of rows) {
    const report = await damage.report(`DELETE FROM ${row} AND ${own}`);
    const beyond_checkpoint = size - sequence;
    expect(report.findings.byCode).toEqual({ missing_entries: 2, beyond_checkpoint });
    expect(report.firstDamage).toMatchObject({ sequence, lastSequence });
  }
});

test('an entry that differs by microseconds is in the named range: a tile, if a stored hash shows it', async () => {
  // The last byte of its time of receipt: a body shows
  // it only if the millisecond differs, and their order only sometimes.
  const byte = (column: string, at: number) =>
    `${column} = set_byte(${column}, ${at}, (get_byte(${column}, ${at}) + 128) % 256)`;
  const tile = `log_tiles SET ${byte('data', 100 * 60 + 11)} WHERE level = 0 AND index = 1`;
  const tail = `log_tail SET ${byte('entry', 11)} WHERE sequence = 540`;
  const changes = [
    { sql: tail, changed: 540, first: 0, last: 566 },
    { sql: tile, changed: 356, first: 256, last: 511 },
  ];
  for (const { sql, changed, first, last } of changes) {
    const { result, firstDamage } = await damage.report(`UPDATE ${sql} AND ${own}`);
    const { sequence = -1, lastSequence = -1 } = firstDamage ?? {};
    expect([result, sequence <= changed, lastSequence >= changed]).toEqual(['damaged', true, true]);
    expect([sequence >= first, lastSequence <= last]).toEqual([true, true]);
  }
});

/** A head with room for as many hashes as its size needs. */
const head = (newSize: number) =>
  `UPDATE log_heads SET size = ${newSize}, frontier = substr(frontier || frontier, 1,
    32 * bit_count(${newSize}::bit(64))::int) WHERE ${own}`;

test('a head that has lost entries, or counts some that are not there, is found', async () => {
  for (const lost of [0, 300, size - 1]) {
    const report = await damage.report(head(lost));
    const codes = ['beyond_checkpoint', 'head_behind', 'missing_entries'];
    expect(Object.keys(report.findings.byCode).sort()).toEqual(codes);
    expect(report.firstDamage).toMatchObject({ sequence: lost, lastSequence: lost });
  }
  const report = await damage.report(head(size + 1));
  expect(report.findings.byCode).toEqual({ missing_entries: 1 });
  expect(report.firstDamage).toMatchObject({ sequence: size, lastSequence: size });
});

test('a log whose last checkpoint is not the one that was signed is not trusted', async () => {
  const note = `replace(note, E'\\n${size}\\n', E'\\n${size - 1}\\n')`;
  const changed = await damage.report(`UPDATE log_checkpoints SET note = ${note} WHERE ${own}`);
  expect(changed).toMatchObject({ result: 'damaged', checkpoint: null, follows: [] });
  // The service looks at it first, and shows none.
  expect(changed.findings.byCode).toEqual({ service_halted: 1 });
  const broken = await damage.report(`UPDATE log_checkpoints SET note = 'none' WHERE ${own}`);
  expect(broken.findings.byCode).toEqual({ service_halted: 1 });
});

test('a changed frontier stops the service before it is signed over, and the command says so', async () => {
  const { service, tenant, url } = log;
  await service.owner.query(`UPDATE log_heads SET ${flip('frontier', 3)} WHERE ${own}`);
  const body = stateEvent(0, service.clock.now);
  await service.call({ method: 'POST', url: '/api/audit-logs', key: tenant.key, body });
  await service.app.checkpoints.tick();
  const env = { INDELIBLE_URL: url, INDELIBLE_API_KEY: tenant.key, XDG_STATE_HOME: log.folder };
  const { status, stdout } = await runCli(['verify', tenant.id, '--json'], { env });
  expect([status, JSON.parse(stdout).findings.byCode]).toEqual([1, { service_halted: 1 }]);
});

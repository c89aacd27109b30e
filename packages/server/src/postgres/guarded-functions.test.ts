import { expectLogIntact } from '@indelible/testing/intact';
import { roleSessions } from '@indelible/testing/role-sessions';
import { expect, test } from 'vitest';

/* The functions through which alone a serving role changes a log. */

const { service, tenant, attempt } = await roleSessions();

interface Head {
  size: number;
  received: string;
}

async function head(): Promise<Head> {
  const { rows } = await service.owner.query(
    'SELECT size::float8, last_received_us AS received FROM log_heads WHERE tenant_id = $1',
    [tenant.id],
  );
  return rows[0];
}

const frontierOf = (size: number) =>
  Buffer.alloc(32 * size.toString(2).replaceAll('0', '').length, 1);
const entry = Buffer.alloc(60, 2);
const hex = (bytes: Uint8Array) => `\\x${Buffer.from(bytes).toString('hex')}`;

/** What append_events answers to these logs and tiles, without events. */
const appendTo = (logs: object[], tiles: object[] = []) =>
  attempt('indelible_writer', "SELECT append_events($1, $2, $3, '[]', '{}', '[]')", [
    tenant.id,
    JSON.stringify(logs),
    JSON.stringify(tiles),
  ]);

/** One entry more, as the service appends it. */
async function honestLog() {
  const { size, received } = await head();
  return {
    tenant_id: tenant.id,
    old_size: size,
    new_size: size + 1,
    frontier: hex(frontierOf(size + 1)),
    received_us: received,
    tail: hex(entry),
  };
}

type Log = Awaited<ReturnType<typeof honestLog>>;

/** What append_events answers to one entry more, with these changes. */
async function append(change: (honest: Log) => { [Key in keyof Log]?: unknown }) {
  const honest = await honestLog();
  const given = { ...honest, ...change(honest) };
  const isOfSize = given.frontier === honest.frontier && Number.isInteger(given.new_size);
  if (isOfSize) given.frontier = hex(frontierOf(Number(given.new_size)));
  return appendTo([given]);
}

/** A damaged log, or an append that does not fit, whichever is found first. */
const refused = /^(IND03|55000)$/;

test('append_events takes what follows the head, and nothing else', async () => {
  expect(await append(() => ({}))).toBe('done');
  const moved = '55000';
  expect(await append(({ old_size }) => ({ old_size: old_size - 1 })), 'a fork').toBe(moved);
  const skipped = ({ old_size }: Log) => ({ old_size: old_size + 1, new_size: old_size + 2 });
  expect(await append(skipped), 'a skipped head').toBe(moved);
  expect(await append(({ old_size }) => ({ new_size: old_size })), 'no growth').toBe(moved);
  const rewind = ({ old_size }: Log) => ({ new_size: old_size - 1, tail: hex(Buffer.alloc(0)) });
  expect(await append(rewind), 'a rewind').toBe(moved);
  expect(await append(() => ({ new_size: 0 })), 'a wiped log').toBe(moved);
  expect(await append(() => ({ received_us: 0 })), 'time running backwards').toBe(moved);
  const log = await honestLog();
  expect(await appendTo([log, log]), 'the same head twice').toMatch(refused);
  const stranger = '00000000-0000-0000-0000-000000000001';
  expect(await append(() => ({ tenant_id: stranger })), 'no such log').toBe(moved);
  expect(await append(() => ({ frontier: hex(Buffer.alloc(31)) })), 'half a hash').toBe('IND03');
  const another = hex(frontierOf(2 ** 20 - 1));
  expect(await append(() => ({ frontier: another })), 'another tree').toBe('IND03');
  for (const name of ['old_size', 'new_size', 'tail'])
    expect(await append(() => ({ [name]: null })), `nothing for ${name}`).toBe(moved);
  for (const name of ['frontier', 'received_us', 'tenant_id'])
    expect(await append(() => ({ [name]: null })), `nothing for ${name}`).toMatch(refused);
  const before = await head();
  await append(() => ({ tenant_id: stranger }));
  expect(await head()).toEqual(before);
});

test('a tile that exists cannot be written again, nor one made of fewer entries', async () => {
  const tile = (level: number, index: number, rest: Buffer) => {
    const hash = hex(Buffer.alloc(32));
    return appendTo([], [{ tenant_id: tenant.id, level, index, hash, rest: hex(rest) }]);
  };
  expect(await tile(0, 0, Buffer.alloc(256 * 60))).toMatch(refused);
  expect(await tile(0, 1, Buffer.alloc(60))).toMatch(refused);
  expect(await tile(1, 0, Buffer.alloc(0))).toMatch(refused);
  await expectLogIntact(service, tenant.id);
});

test('open_log opens no class that does not exist, and changes no log that has another', async () => {
  const open = (id: string | null, retentionClass: number | null) =>
    attempt('indelible_writer', 'SELECT open_log($1, $2, gen_random_uuid())', [id, retentionClass]);
  for (const retentionClass of [-1, 4, 32_767])
    expect(await open(tenant.id, retentionClass)).toBe('23503');
  const before = await head();
  for (const [id, retentionClass] of [
    [null, 1],
    [tenant.id, null],
  ] as const)
    await open(id, retentionClass);
  await service.db.writer.query('SELECT open_log($1, 2::smallint, gen_random_uuid())', [tenant.id]);
  expect(await head()).toEqual(before);
  await expectLogIntact(service, tenant.id);
});

test('make_partition leaves what exists alone, and takes no text for a name', async () => {
  const make = (retentionClass: unknown, moment: unknown) =>
    attempt('indelible_writer', 'SELECT make_partition($1::smallint, $2::timestamptz)', [
      retentionClass,
      moment,
    ]);
  const partitions = async () =>
    (
      await service.owner.query(
        "SELECT count(*)::int AS n FROM pg_inherits WHERE inhparent = 'audit_events'::regclass",
      )
    ).rows[0].n;
  const before = await partitions();
  await service.db.writer.query('SELECT make_partition(2::smallint, $1)', [
    new Date(service.clock.now),
  ]);
  expect(await partitions()).toBe(before);
  expect(await make('2; DROP TABLE audit_events', 'now')).toBe('22P02');
  expect(await make(2, "now'); DROP TABLE audit_events; --")).toBe('22007');
  expect(await make(2, null)).not.toBe('done');
  expect(await make(null, 'now')).not.toBe('done');
  expect(await make(2, 'infinity')).not.toBe('done');
  expect(await make(2, '-infinity')).not.toBe('done');
  expect(await partitions()).toBe(before);
  await expectLogIntact(service, tenant.id);
});

test('a writer makes no partition for what no plan keeps', async () => {
  const sql = 'SELECT make_partition($1::smallint, $2)';
  for (const [retentionClass, years] of Object.entries([2, 3, 9])) {
    const moment = new Date(Date.now() - years * 366 * 86_400_000);
    expect(await attempt('indelible_writer', sql, [retentionClass, moment])).toBe('22023');
  }
});

test('append_events takes exactly what the log grows by: no hole, no tile before its time, nothing of another log', async () => {
  const moved = '55000';
  const { size } = await head();
  const rest = Buffer.alloc((256 - (size % 256)) * 60);
  const tile = {
    tenant_id: tenant.id,
    level: 0,
    index: size >> 8,
    hash: hex(Buffer.alloc(32)),
    rest: hex(rest),
  };
  expect(await append(() => ({ new_size: size + 2 })), 'a hole at the end').toBe(moved);
  const two = hex(Buffer.concat([entry, entry]));
  expect(await append(() => ({ tail: two })), 'an entry behind the end').toBe(moved);
  const whole = { new_size: (size >> 8) * 256 + 256, tail: hex(Buffer.alloc(0)) };
  expect(await append(() => whole), 'a tile left out').toBe(moved);
  expect(await appendTo([await honestLog()], [tile]), 'a tile before its time').toBe(moved);
  expect(await appendTo([], [tile]), 'a tile without a head').toBe(moved);
});

test.each([
  [-1, 'now'],
  [4, 'now'],
  [32_767, 'now'],
  [1, '1969-12-31T23:59:59Z'],
  [1, '0044-03-15 BC'],
  [1, '4000-01-01'],
])('no partition of class %s is made for %s', async (retentionClass, moment) => {
  const sql = 'SELECT make_partition($1::smallint, $2::timestamptz)';
  expect(await attempt('indelible_writer', sql, [retentionClass, moment])).toBe('22023');
});

import { expect, test } from 'vitest';
import { expectLogIntact } from '../testing/intact.ts';
import { roleSessions } from '../testing/role-sessions.ts';

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

/** What record_events answers to one entry more, with these changes to the arguments. */
async function append(
  change: (honest: {
    size: number;
    received: string;
  }) => Partial<Record<'old' | 'next' | 'frontier' | 'received' | 'sequence' | 'tenants', unknown>>,
) {
  const { size, received } = await head();
  const given = {
    old: size,
    next: size + 1,
    received,
    sequence: size,
    tenants: [tenant.id],
    ...change({ size, received }),
  };
  const frontier = given.frontier ?? frontierOf(Number(given.next));
  const repeat = (value: unknown) =>
    Array.isArray(given.tenants) ? given.tenants.map(() => value) : value;
  return attempt(
    'indelible_writer',
    'SELECT record_events($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)',
    [
      tenant.id,
      given.tenants,
      repeat(given.old),
      repeat(given.next),
      repeat(frontier),
      repeat(given.received),
      [tenant.id],
      [given.sequence],
      [entry],
      [],
      [],
      [],
      [],
      [],
    ],
  );
}

/** A damaged log, or an append that does not fit, whichever is found first. */
const refused = /^(IND03|55000)$/;

test('record_events takes what follows the head, and nothing else', async () => {
  expect(await append(() => ({}))).toBe('done');
  const moved = '55000';
  expect(await append(({ size }) => ({ old: size - 1 })), 'a fork').toBe(moved);
  expect(await append(({ size }) => ({ old: size + 1, next: size + 2 })), 'a skipped head').toBe(
    moved,
  );
  expect(await append(({ size }) => ({ next: size })), 'no growth').toBe(moved);
  expect(await append(({ size }) => ({ next: size - 1 })), 'a rewind').toBe(moved);
  expect(await append(() => ({ next: 0, frontier: Buffer.alloc(0) })), 'a wiped log').toBe(moved);
  expect(await append(() => ({ received: '0' })), 'time running backwards').toBe(moved);
  expect(await append(() => ({ tenants: [tenant.id, tenant.id] })), 'the same head twice').toBe(
    moved,
  );
  expect(
    await append(() => ({ tenants: ['00000000-0000-0000-0000-000000000001'] })),
    'no such log',
  ).toBe(moved);
  expect(await append(({ size }) => ({ sequence: size - 1 })), 'an overwritten entry').toMatch(
    refused,
  );
  expect(await append(() => ({ frontier: Buffer.alloc(31) })), 'half a hash').toBe('IND03');
  expect(await append(() => ({ frontier: frontierOf(2 ** 20 - 1) })), 'another tree').toBe('IND03');
  expect(await append(() => ({ old: null })), 'nothing for a size').toBe(moved);
  const before = await head();
  await append(() => ({ tenants: null }));
  expect(await head(), 'nothing at all').toEqual(before);
});

test('a tile that exists cannot be written again, nor one made of fewer entries', async () => {
  const tile = async (level: number, index: number, rest: Buffer) =>
    attempt(
      'indelible_writer',
      "SELECT record_events($1, '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', $2, $3, $4, $5, $6)",
      [tenant.id, [tenant.id], [level], [index], [Buffer.alloc(32)], [rest]],
    );
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

test('record_events takes exactly what the log grows by: no hole, no tile before its time, nothing of another log', async () => {
  const moved = '55000';
  const { size } = await head();
  expect(await append(() => ({ next: size + 2 })), 'a hole at the end').toBe(moved);
  expect(await append(() => ({ next: size + 2, sequence: size + 1 })), 'a hole').toBe(moved);
  expect(await append(() => ({ next: (size >> 8) * 256 + 256 })), 'a tile left out').toBe(moved);
  const text = 'SELECT record_events($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)';
  const none = [[], [], [], [], []];
  const entryOnly = [tenant.id, ...none, [tenant.id], [size], [entry], ...none];
  expect(await attempt('indelible_writer', text, entryOnly), 'an entry without a head').toBe(moved);
  const rest = Buffer.alloc((256 - (size % 256)) * 60);
  const tileOnly = [
    tenant.id,
    ...none,
    [],
    [],
    [],
    [tenant.id],
    [0],
    [size >> 8],
    [Buffer.alloc(32)],
    [rest],
  ];
  expect(await attempt('indelible_writer', text, tileOnly), 'a tile without a head').toBe(moved);
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

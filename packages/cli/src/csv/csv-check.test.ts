import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type CsvColumn,
  csvColumns,
  csvEventOf,
  csvHeader,
  csvRow,
  type EventFilter,
  parseBodyLine,
} from '@indelible/protocol';
import { expect, test } from 'vitest';
import { bundleOf, verifiedBundle } from '../testing/bundle-of.ts';
import { runCli } from '../testing/run-cli.ts';
import { type VerifiedService, verifiedService } from '../testing/verified-service.ts';
import { csvCheck } from './csv-check.ts';
import { cellsOf } from './csv-reader.ts';

/** The events of the bundle by id. */
const events = new Map<string, ReturnType<typeof csvEventOf>>();
const log = await verifiedService();
const bundle = await bundleOf(log);
const path = join(log.folder, 'table.csv');
const lines = readFileSync(join(bundle, 'events.ndjson'), 'utf8').trimEnd().split('\n');
for (const line of lines) {
  const { event } = parseBodyLine(line);
  events.set(event.id, csvEventOf(event));
}

type ListQuery = Parameters<VerifiedService['client']['list']>[0];

/** The rows that a table has: those of the list under the same filter, in its order. */
async function rowsOf(query: ListQuery = {}, columns: readonly CsvColumn[] = csvColumns) {
  const rows: string[] = [];
  for await (const { id } of log.client.list({ limit: 500, ...query })) {
    const event = events.get(id);
    if (event) rows.push(csvRow(event, columns));
  }
  return rows;
}

type Options = Partial<Parameters<typeof csvCheck>[0]>;

/** Verifies a table of the standard columns. */
const verified = (rows: readonly string[], options: Options = {}) =>
  verifiedText([csvHeader(), ...rows].join(''), options);

function verifiedText(text: string, options: Options = {}) {
  const all = { filter: {}, order: 'desc', recordedBefore: Number.POSITIVE_INFINITY } as const;
  writeFileSync(path, text);
  return verifiedBundle(bundle, { check: csvCheck({ path, ...all, ...options }) });
}

const values = (...any: string[]) => ({ any, none: [] });

test('a table of everything is what was logged', async () => {
  const rows = await rowsOf();
  const report = await verified(rows);
  expect(report).toMatchObject({ what: 'csv', subject: path, result: 'intact' });
  expect(report.checked).toMatchObject({ rows: 567, entries: 567 });
  expect(report.follows.join()).toContain('The 567 rows match the log exactly');
});

test('a table has the rows of the list under the same filter, whichever it is', async () => {
  const { now } = log.service.clock;
  const day = 86_400_000;
  const [from, to] = [now - 60 * day, now - 10 * day];
  const range = { from: new Date(from).toISOString(), to: new Date(to).toISOString() };
  const ana = '10000000-0000-4000-8000-000000000000';
  const filters: [ListQuery, EventFilter][] = [
    [range, { from, to }],
    [
      { user: ['ana@example.com', 'ZOË@example.com'] },
      { user: values('ana@example.com', 'zoë@example.com') },
    ],
    [{ user: [ana] }, { user: values(ana) }],
    [
      { user: [`!${ana}`, '!_under@example.com'] },
      { user: { any: [], none: [ana, '_under@example.com'] } },
    ],
    [{ action: ['update', 'access'] }, { action: values('access', 'update') }],
    [
      { action: '!update', resource: ['queue', 'ivr'] },
      { action: { any: [], none: ['update'] }, resource: values('ivr', 'queue') },
    ],
    [
      { resourceId: '0b54a1de-6e0f-4c66-a24c-2c4f6f2c7a11' },
      { resourceId: values('0b54a1de-6e0f-4c66-a24c-2c4f6f2c7a11') },
    ],
    [{ crossTenant: 'true' }, { crossTenant: values('true') }],
    [{ ip: '203.0.113.7' }, { ip: values('203.0.113.7') }],
    [{ ip: '!203.0.113.7' }, { ip: { any: [], none: ['203.0.113.7'] } }],
    [
      { category: ['security', '!configuration'] },
      { category: { any: ['security'], none: ['configuration'] } },
    ],
  ];
  for (const [query, filter] of filters) {
    const rows = await rowsOf(query);
    expect(rows.length).toBeGreaterThan(3);
    const report = await verified(rows, { filter });
    expect(report.findings, JSON.stringify(query)).toMatchObject({ count: 0 });
    expect(report.checked.rows).toBe(rows.length);
  }
});

test('a table without a row proves nothing about a person whom no event of the bundle names', async () => {
  const rhea = await verified([], { filter: { user: values('rhea') } });
  expect(rhea).toMatchObject({
    result: 'unproven',
    unproven: [expect.stringContaining('Anything about user "rhea": it occurs in no event')],
  });
  const ana = values('10000000-0000-4000-8000-000000000000');
  const nothing = { user: ana, action: values('no_such_thing') };
  expect(await verified([], { filter: nothing })).toMatchObject({ result: 'intact' });
});

const sequenceOf = (cells: readonly string[] | null) =>
  Number(cells?.[csvColumns.indexOf('sequence')]);

test('a table may have other columns, another order, and end before a sequence', async () => {
  const columns: CsvColumn[] = ['id', 'before', 'after', 'recordedBy', 'receivedAt', 'diff'];
  const rows = await rowsOf({ order: 'asc' }, columns);
  const report = await verifiedText([csvHeader(columns), ...rows].join(''), { order: 'asc' });
  expect(report.findings.count).toBe(0);
  const early = (await rowsOf()).filter((row) => sequenceOf(cellsOf(row.slice(0, -2))) < 400);
  expect((await verified(early, { recordedBefore: 400 })).result).toBe('intact');
  const { byCode, kept } = (await verified(early)).findings;
  expect(byCode).toEqual({ csv_row_missing: 167 });
  expect(kept[0]?.message).toContain('or recorded after the table was made');
});

/** Where a row is, and what event it is of. */
async function anyRow(at = 33) {
  const rows = await rowsOf();
  const cells = cellsOf((rows[at] ?? '').slice(0, -2)) ?? [];
  return { rows, at, cells, eventId: cells[0], sequence: sequenceOf(cells) };
}

const quoted = (cell: string) => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell);

test('one changed cell is found, in whichever column, and each event is named', async () => {
  const { rows, at } = await anyRow(540);
  const columns = csvColumns.filter((column) => column !== 'id');
  const changes = columns.map((column, n) => {
    const cells = cellsOf((rows[at + n] ?? '').slice(0, -2)) ?? [];
    const index = csvColumns.indexOf(column);
    const changed = cells.with(index, cells[index] === '' ? 'x' : `${cells[index]?.slice(0, -1)}~`);
    return { column, eventId: cells[0], row: `${changed.map(quoted).join(',')}\r\n` };
  });
  const report = await verified(
    rows.toSpliced(at, columns.length, ...changes.map(({ row }) => row)),
  );
  expect(report.findings.byCode).toEqual({ csv_row_altered: columns.length });
  for (const { column, eventId } of changes) {
    const found = report.findings.kept.find((finding) => finding.eventId === eventId);
    expect(found?.message).toContain(`does not match the log: ${column}.`);
  }
});

test('a row that was removed, added, repeated or moved is found, and named', async () => {
  const { rows, at, eventId = '', sequence } = await anyRow();
  const removed = await verified(rows.toSpliced(at, 1));
  expect(removed.findings.byCode).toEqual({ csv_row_missing: 1 });
  expect(removed.firstDamage).toMatchObject({ sequence, eventId });
  const repeated = await verified(rows.toSpliced(at, 0, rows[at] ?? ''));
  expect(repeated.findings.byCode).toEqual({ csv_row_repeated: 1 });
  expect(repeated.firstDamage).toMatchObject({ sequence, eventId });
  const forged = `${eventId.slice(0, -1)}${eventId.endsWith('0') ? '1' : '0'}`;
  const added = await verified(rows.toSpliced(at, 0, (rows[at] ?? '').replace(eventId, forged)));
  expect(added.findings.byCode).toEqual({ csv_row_unknown: 1 });
  expect(added.findings.kept[0]).toMatchObject({ eventId: forged });
  const swapped = await verified(rows.with(at, rows[at + 1] ?? '').with(at + 1, rows[at] ?? ''));
  expect(swapped.findings.byCode).toEqual({ csv_row_order: 1 });
  expect(swapped.firstDamage).toMatchObject({ sequence, eventId });
  const last = await verified([...rows.toSpliced(at, 1), rows[at] ?? '']);
  expect(last.findings.byCode).toEqual({ csv_row_order: 1 });
});

test('a row that does not match the filter is found', async () => {
  const report = await verified(await rowsOf({ action: ['update', 'login'] }), {
    filter: { action: values('update') },
  });
  expect(report.findings.byCode).toEqual({ csv_row_unwanted: report.findings.count });
  expect(report.findings.count).toBeGreaterThan(3);
});

test('a table that was written by another program is not the one that was exported', async () => {
  const { rows, at } = await anyRow();
  const row = rows[at] ?? '';
  const others: [string, string][] = [
    [row.replace('\r\n', '\n'), 'csv_row_altered'],
    [row.replace(/^([^,]+),/, '"$1",'), 'csv_row_altered'],
    [row.replace('\r\n', ',x\r\n'), 'csv_row_malformed'],
    [row.replace(',', 'x",'), 'csv_row_malformed'],
    [row.replace('evt_audit_', 'evt-audit-'), 'csv_row_malformed'],
  ];
  for (const [other, code] of others) {
    const report = await verified(rows.with(at, other));
    expect(Object.keys(report.findings.byCode), other).toContain(code);
  }
  const body = rows.join('');
  for (const header of [`\ufeff${csvHeader()}`, 'id,colour\r\n', 'id,id\r\n', 'action\r\n', '']) {
    const report = await verifiedText(header + body);
    expect(report.findings.byCode, header).toEqual({ csv_header: 1 });
  }
  expect((await verifiedText('')).findings.byCode).toEqual({ csv_header: 1 });
});

test('what a table says where the bundle withholds it is unproven', async () => {
  const withheld = await bundleOf(log, ['identity']);
  const rows = await rowsOf();
  rows[0] = rows[0]?.replace(/[^,]+@[^,]+/, 'mallory@example.com') ?? '';
  writeFileSync(path, [csvHeader(), ...rows].join(''));
  const options = { path, filter: {}, order: 'desc', recordedBefore: 1_000 } as const;
  const report = await verifiedBundle(withheld, { check: csvCheck(options) });
  expect([report.result, report.findings.count]).toEqual(['unproven', 0]);
  expect(report.unproven.join()).toMatch(/What \d+ cells of the table say/);
  expect(report.follows.join()).not.toContain('exactly');
  const columns: CsvColumn[] = ['id', 'action', 'sequence'];
  writeFileSync(path, [csvHeader(columns), ...(await rowsOf({}, columns))].join(''));
  const shown = await verifiedBundle(withheld, { check: csvCheck(options) });
  expect(shown.result).toBe('intact');
  const byPart = [{ user: values('ana@example.com') }, { ip: values('203.0.113.7') }];
  for (const filter of [...byPart, { q: values('menu') }]) {
    const byIdentity = verifiedBundle(withheld, { check: csvCheck({ ...options, filter }) });
    await expect(byIdentity).rejects.toThrow(/withholds identity/);
  }
  const unchanged = await bundleOf(log, ['change']);
  const byReason = { ...options, filter: { hasReason: values('true') } };
  const checked = verifiedBundle(unchanged, { check: csvCheck(byReason) });
  await expect(checked).rejects.toThrow(/withholds change/);
});

test('the command verifies a table under its filter, and ends with 1 when a cell was changed', async () => {
  const rows = await rowsOf({ action: 'update', resource: '!queue' });
  const args = ['verify', '--bundle', bundle, path, '--action', 'update', '--resource', '!queue'];
  writeFileSync(path, [csvHeader(), ...rows].join(''));
  const fine = await runCli(args);
  expect([fine.status, fine.stderr]).toEqual([0, '']);
  expect(fine.stdout).toContain('\nINTACT: ');
  writeFileSync(path, [csvHeader(), ...rows].join('').replace('¡Hola!', '¡Hole!'));
  const changed = await runCli(args);
  expect(changed.status).toBe(1);
  expect(changed.stdout).toMatch(/\nThe first damage: sequence \d+, evt_audit_\w+, of 20\d\d-/);
  const wrong = await runCli([...args, '--category', 'colour']);
  expect([wrong.status, wrong.stderr]).toEqual([
    2,
    expect.stringContaining('category must be one of'),
  ]);
});

import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  eventJson,
  firstMs,
  plainEvent,
  type RecordedEvent,
  record,
} from '../testing/recorded-log.ts';
import { contextTexts } from './context.ts';
import {
  type CsvColumn,
  type CsvEvent,
  csvColumns,
  csvFurtherColumns,
  csvHeader,
  csvRow,
} from './csv-row.ts';
import { eventFields } from './event-fields.ts';

const event: CsvEvent = { ...plainEvent(0), sequence: 7, receivedAtMs: firstMs + 250 };

/** The cells of one line, read as RFC 4180 has it. */
function cellsOf(row: string): string[] {
  expect(row.endsWith('\r\n')).toBe(true);
  const cells = row.slice(0, -2).matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^",\r\n]*))/g);
  return [...cells].map(([, quoted, plain]) => quoted?.replaceAll('""', '"') ?? plain ?? '');
}

const nameCell = (resourceName: string | null) =>
  csvRow({ ...event, resourceName }, ['resource.name']).slice(0, -2);

test('the header names the standard columns, and ends in CRLF', () => {
  expect(csvHeader()).toBe(
    'id,timestamp,tenantId,actor.id,actor.email,actor.role,actor.ip,actor.userAgent,action,' +
      'resource.type,resource.id,resource.name,diff,crossTenant,reason,category,sequence,' +
      'outcome,actor.name,actor.externalId,onBehalfOf,resource.externalId,targets,metadata\r\n',
  );
  expect(csvHeader(['id', ...csvFurtherColumns])).toBe(
    'id,receivedAt,recordedBy,before,after,actor.type,correlationId,traceId,via,source,asSent\r\n',
  );
});

test('every field of an event is in a CSV by default, unless it is decided that it is not', () => {
  const standard = new Set<string>(csvColumns);
  const others = eventFields.map(({ path }) => path).filter((path) => !standard.has(path));
  // How it came about or was recorded, and whole states: `diff` has what changed.
  expect(others.sort()).toEqual([
    ...['actor.type', 'after', 'asSent', 'before', 'correlationId', 'hasState', 'receivedAt'],
    ...['recordedBy.id', 'recordedBy.kind', 'source', 'traceId', 'via'],
  ]);
});

test('a row says that an action was denied, by whom, for whom and on what', () => {
  const context = contextTexts({
    outcome: 'denied',
    actor: { name: 'Ana Sanz', externalId: 'user_42' },
    onBehalfOf: [{ externalId: 'bea' }],
    resource: { externalId: 'q1' },
    targets: [{ type: 'user', name: 'Carl' }],
    metadata: { attempt: 3 },
  });
  expect(csvRow({ ...event, ...context }).split(',configuration,7,')[1]).toBe(
    'denied,Ana Sanz,user_42,"[{""externalId"":""bea""}]",q1,' +
      '"[{""name"":""Carl"",""type"":""user""}]","{""attempt"":3}"\r\n',
  );
});

test('a row has the standard columns, null as nothing and diff as one JSON cell', () => {
  expect(csvRow({ ...event, uuid: '01990f13-7f00-7a0c-8a84-e22fb4a0ebba', actorIp: null })).toBe(
    'evt_audit_01k47h6zr0f868n1725yta1txt,2025-09-03T10:16:00.000Z,' +
      '0199c0de-4b1e-7a55-8d37-6c2f90ab1e24,7f9c2ba4-e88f-4a1b-9c3d-1f2e3d4c5b6a,' +
      'ana.0@example.com,admin,,' +
      '"Mozilla/5.0 (X11; Linux x86_64; rv:142.0) Gecko/20100101 Firefox/142.0",update,queue,' +
      '0b54a1de-6e0f-4c66-a24c-2c4f6f2c7a11,Sales,' +
      '"{""maxWaitSeconds"":{""from"":0,""to"":60}}",false,,configuration,7,,,,,,,\r\n',
  );
});

test('further columns are written as JSON cells, when they are asked for, in the order asked', () => {
  const withState = { ...event, after: '{"a":"x,y"}' };
  expect(csvRow(withState, ['after', 'before', 'receivedAt', 'recordedBy', 'diff'])).toBe(
    '"{""a"":""x,y""}",,2025-09-03T10:16:00.250Z,' +
      '"{""id"":""01990f12-94a0-759e-b499-9ad476cc148b"",""kind"":""api_key""}",' +
      '"{""maxWaitSeconds"":{""from"":0,""to"":60}}"\r\n',
  );
  expect(csvRow({ ...event, diff: '{}' }, ['reason', 'diff', 'before'])).toBe(',{},\r\n');
});

test('text that a spreadsheet could take for a formula is prefixed, also behind what is unseen', () => {
  for (const start of ['=', '+', '-', '@', "'", '＝', '＋', '－', '＠', '＇']) {
    const unseen = ['', ' ', '\u00a0', '\u200b', '\ufeff', '\u3000', '\u0000', '\u0085', '\u202e'];
    for (const before of [...unseen, '\u00ad\u3164 ']) {
      const text = `${before}${start}SUM(A1)`;
      expect(nameCell(text), JSON.stringify(text)).toBe(`'${text}`);
    }
  }
  expect(nameCell('=HYPERLINK("http://x","y")')).toBe(`"'=HYPERLINK(""http://x"",""y"")"`);
});

test('text that begins with a tab or a line break is prefixed', () => {
  expect(nameCell('\tx')).toBe(`"'\tx"`);
  expect(nameCell('\rx')).toBe(`"'\rx"`);
  expect(nameCell('\nx')).toBe(`"'\nx"`);
  expect(nameCell('\t')).toBe(`"'\t"`);
});

test('other text stays as it is', () => {
  for (const text of ['a=b', 'x', ' x', '5', '#N/A', '\u200bx', '‘x', '_', '*', '−1', '']) {
    expect(nameCell(text)).toBe(text);
  }
  expect(nameCell(null)).toBe('');
});

test('commas, quotes and line breaks are quoted, and quotes doubled', () => {
  expect(nameCell('a,b')).toBe('"a,b"');
  expect(nameCell('say "hi"')).toBe('"say ""hi"""');
  expect(nameCell('"')).toBe('""""');
  expect(nameCell('two\r\nlines')).toBe('"two\r\nlines"');
  expect(nameCell('cr\ronly')).toBe('"cr\ronly"');
});

test('no cell begins behind a semicolon of a JSON cell, and its JSON says the same', () => {
  const text = fc.string({
    unit: fc.constantFrom(';', '=', '\\', '"', ',', 'a', 'u003b', '\n', ' '),
  });
  fc.assert(
    fc.property(text, text, (key, value) => {
      const json = JSON.stringify({ [key]: value });
      const row = csvRow({ ...event, diff: json, before: json }, ['diff', 'before', 'after']);
      expect(row).not.toContain(';');
      for (const cell of cellsOf(row).slice(0, 2)) {
        expect(JSON.parse(cell)).toEqual({ [key]: value });
      }
    }),
  );
});

test('a text with a tab or a semicolon is quoted: a spreadsheet that splits there keeps it whole', () => {
  for (const text of ['a;=1+1', 'x\t=1+1', 'Mozilla/5.0 (X11; Linux x86_64)']) {
    expect(nameCell(text)).toBe(`"${text}"`);
  }
  expect(nameCell(';=1')).toBe(`"';=1"`);
});

test('every free text of an event is guarded, and no other cell', () => {
  const formula = '=1+1';
  const texts = {
    actorEmail: formula,
    actorRole: formula,
    actorIp: formula,
    actorUserAgent: formula,
    action: formula,
    resourceType: formula,
    resourceName: formula,
    reason: formula,
    category: formula,
  };
  const cells = cellsOf(csvRow({ ...event, ...texts }));
  const guarded = csvColumns.filter((_, index) => cells[index] === `'${formula}`);
  expect(guarded).toHaveLength(Object.keys(texts).length);
  expect(cells.filter((cell) => cell === formula)).toEqual([]);
});

test('a cell gives back the exact text: unquoted, and without one leading apostrophe', () => {
  const text = fc.oneof(
    fc.string({ unit: 'grapheme' }),
    fc.string({ unit: fc.constantFrom('=', '"', ',', ';', '\r', '\n', '\t', "'", ' ', 'a', '＝') }),
  );
  fc.assert(
    fc.property(text, text, (reason, resourceName) => {
      const columns: CsvColumn[] = ['id', 'reason', 'diff', 'resource.name', 'sequence'];
      const cells = cellsOf(csvRow({ ...event, reason, resourceName }, columns));
      expect(cells).toHaveLength(5);
      expect(cells[1]?.replace(/^'/, '')).toBe(reason);
      expect(cells[3]?.replace(/^'/, '')).toBe(resourceName);
      expect(cells[2]).toBe(event.diff);
      const { id } = JSON.parse(eventJson(record([event])[0] as RecordedEvent));
      expect([cells[0], cells[4]]).toEqual([id, '7']);
    }),
  );
});

import { deepStrictEqual, ok } from 'node:assert';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import * as spreadsheet from '@e965/xlsx';
import {
  type CsvColumn,
  type CsvEvent,
  csvColumns,
  csvHeader,
  csvRow,
} from '../packages/protocol/src/event/csv-row.ts';

/*
 * `npm run test:libreoffice`: what LibreOffice's own CSV import makes of an export, cell by cell,
 * in a language whose separator is the comma and in one where it is the semicolon, with the comma
 * alone and with the separators that it proposes; and of its JSON
 * cells, when the semicolon is taken for the separator. Needs `soffice` (Debian:
 * libreoffice-calc-nogui), which is why it is not part of `npm test`.
 */

const names = [
  ...['plain', 'comma, quote " and ; semicolon', 'two\nlines', 'two\r\nlines', '  spaces  '],
  ...[
    '=1+1',
    '+49 30 123',
    '-5',
    '@SUM(A1)',
    "'quoted",
    '＝1+1',
    '＋1',
    '－1',
    '＠x',
    '\t=1',
    '\u200b=1',
  ],
  ...[
    'a;=1+1',
    'a\t=1',
    'emoji 😀👩‍👩‍👧',
    'عربي "مقتبس", نص',
    'שלום, עולם',
    '\u202eevil',
    'Ünïcödé ÇÃO',
  ],
  ...['SEP=;', '"', ',', ';', 'null'],
];

const events = names.map((resourceName, sequence): CsvEvent => {
  const id = '018f3a6e-5d1b-7c42-9a10-3f6e2b8d4c01';
  return {
    tenantId: id,
    uuid: id,
    actorId: id,
    actorEmail: 'ana@example.com',
    actorRole: 'admin',
    actorIp: '203.0.113.9',
    actorUserAgent: resourceName,
    action: 'update',
    resourceType: 'queue',
    resourceId: id,
    resourceName,
    crossTenant: false,
    diff: JSON.stringify({ name: { from: resourceName, to: null } }),
    reason: resourceName,
    category: 'configuration',
    recordedByKind: 'api_key',
    recordedById: id,
    context: null,
    contextIdentity: null,
    before: null,
    after: JSON.stringify([resourceName]),
    sequence,
    receivedAtMs: 1_715_000_000_000,
  };
});

/** The text that a reader of the file gets back, once one leading apostrophe is taken off. */
const shown = (text: string) => text.replace(/^'/, '').replaceAll('\r\n', '\n');

// LibreOffice proposes all three when it opens a file.
const separators = { comma: '44', proposed: '9/44/59', semicolon: '59' };

function imported(
  language: string,
  separator: keyof typeof separators,
  columns: readonly CsvColumn[],
): spreadsheet.WorkSheet {
  const folder = mkdtempSync(join(tmpdir(), 'indelible-libreoffice-'));
  try {
    const file = join(folder, 'export.csv');
    const lines = events.map((event) => csvRow(event, columns));
    writeFileSync(file, csvHeader(columns) + lines.join(''));
    // 34: quotes; 76: UTF-8; every column as it comes, as a person's double click has it.
    const filter = `Text - txt - csv (StarCalc):${separators[separator]},34,76,1`;
    const profile = `-env:UserInstallation=${pathToFileURL(join(folder, 'profile')).href}`;
    execFileSync(
      'soffice',
      [
        profile,
        '--headless',
        '--convert-to',
        'xlsx',
        `--infilter=${filter}`,
        '--outdir',
        folder,
        file,
      ],
      {
        env: { ...process.env, LC_ALL: language, LANG: language },
        stdio: 'ignore',
        timeout: 120_000,
      },
    );
    const book = spreadsheet.read(readFileSync(join(folder, 'export.xlsx')));
    const [sheet] = Object.values(book.Sheets);
    ok(sheet, 'LibreOffice made no sheet');
    return sheet;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function formulasOf(sheet: spreadsheet.WorkSheet) {
  return Object.entries(sheet).filter(([, cell]) => cell?.f !== undefined);
}

for (const language of ['en_US.UTF-8', 'de_DE.UTF-8', 'pt_BR.UTF-8']) {
  checkTable(language, 'comma');
  checkTable(language, 'proposed');
  const misread = imported(language, 'semicolon', ['id', 'diff', 'after']);
  deepStrictEqual(formulasOf(misread), [], `${language}: no formula in the middle of JSON`);
  console.log(`${language}: ${names.length} rows as they were written, no formula`);
}

function checkTable(language: string, separator: keyof typeof separators): void {
  const sheet = imported(language, separator, csvColumns);
  deepStrictEqual(formulasOf(sheet), [], `${language}: no cell is a formula`);
  const rows = spreadsheet.utils.sheet_to_json<string[]>(sheet, {
    header: 1,
    raw: false,
    defval: '',
  });
  deepStrictEqual(rows[0], [...csvColumns], `${language}: the header`);
  deepStrictEqual(rows.length, names.length + 1, `${language}: the rows`);
  const at = (name: (typeof csvColumns)[number]) => csvColumns.indexOf(name);
  for (const [index, event] of events.entries()) {
    const row = rows[index + 1] ?? [];
    deepStrictEqual(
      shown(String(row[at('resource.name')])),
      (event.resourceName ?? '').replaceAll('\r\n', '\n'),
      language,
    );
    deepStrictEqual(JSON.parse(String(row[at('diff')])), JSON.parse(event.diff), language);
    deepStrictEqual(String(row[at('id')]).startsWith('evt_audit_'), true, language);
  }
}

import {
  type CsvColumn,
  type CsvEvent,
  contextTexts,
  csvColumns,
  csvFurtherColumns,
  csvRow,
} from '@indelible/protocol';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { StoredEvent } from '../../events/prepared-event.ts';
import { csvLineWriter } from './csv-lines.ts';
import { LineBuffer } from './line-buffer.ts';
import { csvFieldsOf, packedEvent } from './packed-event.ts';

const uuid = '018f3a6e-5d1b-7c42-9a10-3f6e2b8d4c01';
const event: CsvEvent = {
  uuid,
  tenantId: uuid,
  actorId: uuid,
  actorEmail: 'ana@example.com',
  actorRole: 'admin',
  actorIp: '2001:db8::1',
  actorUserAgent: 'Mozilla/5.0 (KHTML, like Gecko)',
  action: 'update',
  resourceType: 'queue',
  resourceId: uuid,
  resourceName: 'Support',
  diff: '{"a":{"from":1,"to":"x, \\"y\\"; z"}}',
  crossTenant: false,
  reason: null,
  category: 'configuration',
  recordedByKind: 'api_key',
  recordedById: uuid,
  before: null,
  after: '{"a":"x, \\"y\\"; z"}',
  sequence: 7,
  receivedAtMs: 1_715_000_000_250,
  context: null,
  contextIdentity: null,
};

const packed = (e: CsvEvent, columns: readonly CsvColumn[]) =>
  packedEvent(e as StoredEvent, csvFieldsOf(columns));

/** What is written of these rows; ids of those to be read alone in angle brackets. */
function written(rows: readonly string[], columns: readonly CsvColumn[]): string {
  let text = '';
  for (const piece of new LineBuffer(csvLineWriter(columns)).piecesOf(rows)) {
    text += 'lines' in piece ? piece.lines.toString() : `<${piece.alone}>`;
  }
  return text;
}

const all: readonly CsvColumn[] = [...csvColumns, ...csvFurtherColumns];

test('a packed row becomes the bytes of its event, whatever its texts are', () => {
  const odd = fc.constantFrom('=', '"', ',', '\r', '\n', '\t', "'", ' ', 'a', '＝', ';', 'é', '😀');
  const text = fc.oneof(fc.string({ unit: 'grapheme' }), fc.string({ unit: odd }));
  const json = text.map((value) => JSON.stringify({ [value]: value }));
  const texts = fc.record({
    actorEmail: fc.option(text),
    actorUserAgent: fc.option(text),
    resourceName: text,
    reason: fc.option(text),
    diff: fc.oneof(json, fc.constant('{}')),
    after: fc.option(json),
  });
  const context = fc.record(
    {
      outcome: fc.constant('denied'),
      actor: fc.record({ name: text }),
      targets: fc.array(fc.record({ name: text })),
    },
    { requiredKeys: [] },
  );
  const changes = fc.tuple(
    texts,
    context.map((each) => contextTexts(each)),
  );
  const columns = fc.shuffledSubarray([...all], { minLength: 1 });
  fc.assert(
    fc.property(fc.array(changes, { minLength: 1, maxLength: 5 }), columns, (changes, columns) => {
      const events = changes.map((parts): CsvEvent => Object.assign({ ...event }, ...parts));
      fc.pre(!JSON.stringify(events).includes('\\u001f'));
      const rows = events.map((each) => packed(each, columns));
      expect(written(rows, columns)).toBe(events.map((each) => csvRow(each, columns)).join(''));
    }),
  );
});

test('a row whose texts hold the separator makes no other row, and is read alone', () => {
  const forged = { ...event, reason: `x\u001fconfiguration\u001f9\r\n${uuid}` };
  const rows = [event, forged, event].map((each) => packed(each, csvColumns));
  const line = csvRow(event);
  expect(written(rows, csvColumns)).toBe(`${line}<${uuid}>${line}`);
});

test('a row that came as its id alone is read alone, unless the id is all that is wanted', () => {
  expect(written([uuid], csvColumns)).toBe(`<${uuid}>`);
  expect(written([uuid], ['timestamp', 'id'])).toBe(csvRow(event, ['timestamp', 'id']));
});

test('rows of any size come whole: those that might not fit are read alone', () => {
  const sizes = [10, 20_000, 95_000, 99_000, 300_000];
  const events = sizes.map((size) => ({ ...event, diff: `{"a":"${';'.repeat(size)}"}` }));
  const lines = events.map((each) => (each.diff.length < 97_000 ? csvRow(each) : `<${uuid}>`));
  const many = Array.from({ length: 5 }, () => events).flat();
  const result = written(
    many.map((each) => packed(each, csvColumns)),
    csvColumns,
  );
  expect(result === lines.join('').repeat(5)).toBe(true);
});

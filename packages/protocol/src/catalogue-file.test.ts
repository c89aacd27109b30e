import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { catalogueSchema, parseCatalogueFile } from './catalogue-file.ts';

test('every event that the schema allows is taken as it is', () => {
  const file = {
    $schema: 'https://audit.example.com/schemas/catalogue.json',
    events: {
      actions: { integration: ['sync'] },
      resourceTypes: ['call'],
      notRecordable: [{ actions: ['ping'], why: 'Pings are noise.' }],
    },
  };
  expect(parseCatalogueFile(JSON.stringify(file))).toEqual(file);
  expect(parseCatalogueFile('{}')).toEqual({});
});

test.each([
  ['{', 'the file is not JSON'],
  ['[]', 'the file must be an object'],
  ['{"events":{},"events":{}}', '/events appears twice'],
  ['{"event":{}}', '/event is not known here: $schema, plans, events'],
  ['{"plans":[]}', '/plans must have at least 1 item'],
  ['{"plans":[{"name":"Gold","class":4}]}', '/plans/0/keeps is missing'],
  [
    '{"plans":[{"name":"Gold","class":4,"keeps":{}}]}',
    '/plans/0/keeps must have one of: days, years',
  ],
  [
    '{"plans":[{"name":"Gold","class":1000,"keeps":{"days":1}}]}',
    '/plans/0/class is 1000; it must be',
  ],
  ['{"plans":[{"name":" ","class":4,"keeps":{"days":1}}]}', '/plans/0/name is " "'],
  ['{"events":{"actions":{"cross_tenant":["spy"]}}}', '/events/actions/cross_tenant is not known'],
  ['{"events":{"actions":{"security":["Login"]}}}', '/events/actions/security/0 is "Login"'],
  ['{"events":{"resourceTypes":"call"}}', '/events/resourceTypes must be an array'],
  ['{"events":{"resourceTypes":["call","deal","call"]}}', 'resourceTypes names "call" twice'],
  ['{"events":{"resourceTypes":[7]}}', '/events/resourceTypes/0 must be a string'],
  ['{"events":{"notRecordable":[{"actions":["ping"]}]}}', '/events/notRecordable/0/why is missing'],
  ['{"events":{"notRecordable":[{"actions":[],"why":"x"}]}}', 'actions must have at least 1 item'],
  [`{"events":{"resourceTypes":["${'a'.repeat(65)}"]}}`, 'has more than 64 characters'],
])('the file %s is refused with a sentence', (text, sentence) => {
  expect(() => parseCatalogueFile(text)).toThrow(sentence);
});

test('the schema in the documentation is the one that is applied', () => {
  const path = join(import.meta.dirname, '../../../docs/catalogue.schema.json');
  expect(JSON.parse(readFileSync(path, 'utf8'))).toEqual(catalogueSchema);
});

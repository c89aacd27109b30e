import { deflateRawSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { foreignForm } from './foreign-form.ts';

const records = { Records: [{ eventTime: '2026-11-20T10:00:05Z' }, { eventTime: 'x' }] };
const zip = Buffer.concat([Buffer.from('PK\x03\x04\x14\0'), deflateRawSync('{"a":1}')]);

test('a file in another form is told as that, with the command that makes lines of it', () => {
  const told = (file: string | Buffer) => foreignForm(Buffer.from(file as string)) ?? '';
  expect(told(JSON.stringify(records))).toContain("jq -c '.Records[]'");
  expect(told(JSON.stringify(records, null, 2))).toContain("jq -c '.Records[]'");
  expect(told(JSON.stringify(records.Records, null, 2))).toContain("jq -c '.[]'");
  expect(told('{\n  "action": "create"\n}\n{\n')).toContain('jq -c .');
  expect(told('time,actor,action\n2026,ana,create\n')).toContain('CSV');
  expect(told('time;actor\r\n')).toContain('CSV');
  expect(told(Buffer.from('\ufefftime\tactor', 'utf16le'))).toContain('iconv');
  expect(told(zip)).toContain('unzip');
});

test('lines of JSON objects and unknown text look like nothing else', () => {
  for (const text of ['{"action":"create","n":[1]}', 'hello', '']) {
    expect(foreignForm(Buffer.from(text))).toBeNull();
  }
});

import { existsSync, readFileSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { newFolder } from '@indelible/testing/folders';
import { expect, test } from 'vitest';
import { UsageError } from '../io.ts';
import { FindingsFile, findingsPaths } from './findings-file.ts';

const folder = newFolder();

test('a file is made with its first line, and no other account may read it', () => {
  const file = new FindingsFile(join(folder, 'one.ndjson'));
  file.close();
  expect(existsSync(file.path)).toBe(false);
  file.append({ line: 1, text: 'a\nb' });
  file.append({ line: 2 });
  file.close();
  const lines = readFileSync(file.path, 'utf8').trimEnd().split('\n');
  expect(lines.map((line) => JSON.parse(line))).toEqual([{ line: 1, text: 'a\nb' }, { line: 2 }]);
  expect(statSync(file.path).mode & 0o777).toBe(0o600);
});

test('a file that cannot be written is wrong usage and names the way out', () => {
  const file = new FindingsFile(join(folder, 'no-such-folder', 'x.ndjson'));
  expect(() => file.append({})).toThrow(UsageError);
  expect(() => file.append({})).toThrow('--rejects');
});

test('findings go beside the source, for a pipe into the current folder, or where one says', () => {
  const source = join(folder, 'events.jsonl.gz');
  expect(findingsPaths(source, undefined)).toEqual({
    rejected: `${source}.rejected.ndjson`,
    conflicts: `${source}.conflicts.ndjson`,
  });
  expect(findingsPaths('-', undefined).rejected).toBe('import.rejected.ndjson');
  expect(findingsPaths('-', '/tmp/bad.txt').conflicts).toBe('/tmp/bad.txt.conflicts.ndjson');
});

test('the source itself is never overwritten, by whatever name', () => {
  const source = new FindingsFile(join(folder, 'source.ndjson'));
  source.append({});
  source.close();
  const other = join(folder, 'link.ndjson');
  symlinkSync(source.path, other);
  expect(() => findingsPaths(source.path, other)).toThrow(UsageError);
});

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { newFolder } from '@indelible/testing/folders';
import { expect, test } from 'vitest';
import { notTheService, UnreachableError } from '../http/errors.ts';
import { SetAside } from './set-aside.ts';

const refused = { status: 'rejected', error: notTheService(403), refusedBy: 'other' } as const;

function setAsideIn(root: string, bytesMax = 2 ** 20) {
  const warnings: string[] = [];
  return {
    setAside: new SetAside(root, bytesMax, ({ message }) => warnings.push(message)),
    warnings,
  };
}

test('a file that takes no events is told, also beside another trouble of the same delivery', () => {
  const root = newFolder();
  writeFileSync(join(root, 'set-aside'), '');
  const { setAside, warnings } = setAsideIn(root);
  const away = { kind: 'away', scope: 'all', error: new UnreachableError('away') } as const;
  const kept = setAside.keep(['{}'], { outcomes: [refused], trouble: away });
  expect(kept).toEqual({ outcomes: [{ status: 'again' }], trouble: away });
  expect(warnings).toEqual([expect.stringMatching(/set-aside.* takes no events: /)]);
});

test('a full file says which setting makes room', () => {
  const { setAside } = setAsideIn(newFolder(), 10);
  const { trouble } = setAside.keep(['{}'], { outcomes: [refused], trouble: null });
  expect(trouble?.error.message).toContain('it is full (spoolBytesMax: 10)');
});

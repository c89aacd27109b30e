import { expect, test } from 'vitest';
import { tokenOf } from './hand-over.ts';

test('only a message that is meant as a token is one', () => {
  expect(tokenOf({ type: 'indelible:token', jwt: 'a.b.c' })).toEqual({ jwt: 'a.b.c' });
  expect(tokenOf({ type: 'indelible:token', jwt: 'a.b.c', tenantId: 't' })).toEqual({
    jwt: 'a.b.c',
    tenantId: 't',
  });
  for (const other of [null, 'a.b.c', {}, { type: 'indelible:token' }, { jwt: 'a.b.c' }]) {
    expect(tokenOf(other)).toBeNull();
  }
});

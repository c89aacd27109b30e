import { expect, test } from 'vitest';
import { acceptedType } from './accepted-type.ts';

const types = ['application/json', 'text/plain'];

test.each([
  [undefined, 'application/json'],
  ['', 'application/json'],
  ['*/*', 'application/json'],
  ['text/plain', 'text/plain'],
  ['TEXT/PLAIN', 'text/plain'],
  ['text/plain; charset=utf-8', 'text/plain'],
  ['text/*', 'text/plain'],
  ['text/plain;q=0', 'application/json'],
  ['text/plain;q=0, */*', 'application/json'],
  ['text/plain ; Q=0.000', 'application/json'],
  ['text/plain, */*', 'text/plain'],
  ['text/plain;q=0.4, application/json;q=0.5', 'application/json'],
  ['application/json;q=0.4,text/plain;q=0.5', 'text/plain'],
  ['text/plainer', 'application/json'],
  ['application/json;q=0, */*;q=0.1', 'text/plain'],
  ['text/html', 'application/json'],
  ['text/plain, application/json', 'application/json'],
])('Accept: %s is answered with %s', (header, type) => {
  expect(acceptedType(header, types)).toBe(type);
});

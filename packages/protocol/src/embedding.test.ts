import { expect, test } from 'vitest';
import { readAppearance, readHostMessage } from './embedding.ts';

test('an appearance of known values is taken', () => {
  const accent = { light: '#7A1FA2', dark: '#e0b0ff' };
  const whole = { chrome: 'none', theme: 'dark', accent, radius: 0, font: 'inter', locale: 'de' };
  expect(readAppearance(whole)).toEqual({ appearance: whole });
  expect(readAppearance({})).toEqual({ appearance: {} });
});

test.each<[string, unknown]>([
  ['no object', 'red'],
  ['a list', []],
  ['an unknown member', { css: 'a{}' }],
  ['an inherited member', { constructor: 'none' }],
  ['another chrome', { chrome: 'some' }],
  ['a colour with more behind it', { accent: { light: '#7a1fa2;}', dark: '#e0b0ff' } }],
  ['a colour by name', { accent: { light: 'red', dark: '#e0b0ff' } }],
  ['a function as colour', { accent: { light: 'url(//x.example)', dark: '#e0b0ff' } }],
  ['one colour for both themes', { accent: '#7a1fa2' }],
  ['a colour too many', { accent: { light: '#7a1fa2', dark: '#e0b0ff', on: '#ffffff' } }],
  ['a colour with too little contrast', { accent: { light: '#ffff00', dark: '#e0b0ff' } }],
  ['a radius as text', { radius: '4px' }],
  ['a radius too large', { radius: 17 }],
  ['a radius that is no number', { radius: Number.NaN }],
  ['a font of its own', { font: 'x, url(//x.example)' }],
  ['a language that the panel does not speak', { locale: 'fr' }],
  ['one wrong value among right ones', { chrome: 'none', radius: -1 }],
])('%s is refused, with a reason', (_, data) => {
  expect(readAppearance(data)).toEqual({ problem: expect.stringMatching(/\w{4}/) });
});

test('only a message that is meant as a token is one', () => {
  const token = { type: 'indelible:token', jwt: 'a.b.c' };
  expect(readHostMessage(token)).toEqual(token);
  const known = { ...token, tenantId: 't' };
  expect(readHostMessage({ ...known, more: 1 })).toEqual(known);
  for (const other of [null, 'a.b.c', {}, { type: 'indelible:token' }, { jwt: 'a.b.c' }]) {
    expect(readHostMessage(other)).toBeNull();
  }
});

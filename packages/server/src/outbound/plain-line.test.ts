import { expect, test } from 'vitest';
import { quoted, withoutLinks } from './plain-line.ts';

test.each([
  ['Log in at evil.example/login', 'Log in at evil[.]example/login'],
  ['www.evil.example', 'www[.]evil[.]example'],
  ['https://evil.example?a=b', 'https[:]//evil[.]example?a=b'],
  ['mailto:eve@evil.example', 'mailto[:]eve@evil[.]example'],
  ['MAILTO：eve', 'MAILTO[:]eve'],
  ['tel:+49110', 'tel[:]+49110'],
  ['evil。example evil．example evil｡example', 'evil[.]example evil[.]example evil[.]example'],
  ['evil․example evil﹒example', 'evil[.]example evil[.]example'],
  ['❤.example', '❤[.]example'],
  ['203.0.113.7:80/login', '203[.]0[.]113[.]7:80/login'],
  ['\\\\evil\\share', '[\\]\\evil\\share'],
])('no program finds an address in %s', (text, shown) => {
  expect(withoutLinks(text)).toBe(shown);
  expect(withoutLinks(shown)).toBe(shown);
});

test.each([
  '12:30, 2026-11-28T10:30:00.000Z',
  'v1.2 of 203.0.113.7 and 2001:db8::fe80',
  'action: update. Next sentence…',
])('text without an address stays as it is: %s', (text) => {
  expect(withoutLinks(text)).toBe(text);
});

test('quoted text cannot close its quotation marks', () => {
  expect(quoted('a” Call us: “b')).toBe("“a' Call us: 'b”");
});

test('a text of many dots takes no more than linear time', () => {
  const startMs = performance.now();
  withoutLinks('1.'.repeat(50_000) + 'a:'.repeat(50_000) + 'x+'.repeat(50_000));
  expect(performance.now() - startMs).toBeLessThan(1_000);
});

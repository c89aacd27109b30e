import type { AuditEvent, State } from '@indelible/client';
import { expect, test } from 'vitest';
import { fieldPairs } from './fields.ts';
import { chosenVersions, versionsOf } from './versions.ts';

test('two states are compared by leaf: nested paths, array elements, absent ones', () => {
  const left = { name: 'a', hours: { open: '08:00' }, list: ['x', 'y'] };
  const right = { name: 'a', hours: { open: '09:00' }, list: ['x'] };
  expect(fieldPairs(left, right)).toEqual([
    { position: 0, field: 'hours.open', left: '08:00', right: '09:00', same: false },
    { position: 1, field: 'list.0', left: 'x', right: 'x', same: true },
    { position: 2, field: 'list.1', left: 'y', right: undefined, same: false },
    { position: 3, field: 'name', left: 'a', right: 'a', same: true },
  ]);
});

test('an inserted element is one difference, and null, absent and empty are told apart', () => {
  const [dogs, cats] = [
    { id: 1, label: 'Dogs' },
    { id: 2, label: 'Cats' },
  ];
  const differing = fieldPairs({ menu: [dogs, cats] }, { menu: [dogs, { id: 3 }, cats] });
  expect(differing.filter(({ same }) => !same)).toEqual([
    { position: 2, field: 'menu.1.id', left: undefined, right: 3, same: false },
  ]);
  expect(fieldPairs({ a: null, b: '', c: null }, { a: '', b: null })).toMatchObject([
    { left: null, right: '', same: false },
    { left: '', right: null, same: false },
    { field: 'c', left: null, right: undefined, same: false },
  ]);
});

test('the tenth element comes after the ninth', () => {
  const list = [...Array(11).keys()];
  expect(fieldPairs(null, { list }).map(({ field }) => field)).toEqual(
    list.map((at) => `list.${at}`),
  );
});

const event = (id: string, before: State | null, after: State | null) =>
  ({ id, before, after, action: 'update', recordedBy: { kind: 'api_key' } }) as AuditEvent;
const history = [
  event('gone', { v: 2 }, null),
  event('looked', null, null),
  event('changed', { v: 1 }, { v: 2 }),
];

test('versions are the states after each change, and the one before the first that is known', () => {
  expect(versionsOf(history).map(({ key, of, state }) => [key, of, state])).toEqual([
    ['gone', 'after', null],
    ['changed', 'after', { v: 2 }],
    ['changed:before', 'before', { v: 1 }],
  ]);
  expect(versionsOf(history).map(({ isCurrent }) => isCurrent)).toEqual([true, false, false]);
});

test('a change that was denied or failed is no version', () => {
  const refused = { ...event('refused', { v: 2 }, { v: 3 }), outcome: 'denied' } as const;
  const failed = { ...event('failed', { v: 2 }, { v: 3 }), action: 'update_failed' };
  expect(versionsOf([refused, failed, ...history])).toEqual(versionsOf(history));
});

test('without a choice the current version stands beside the one before it', () => {
  const versions = versionsOf(history);
  const keys = (chosen: { left?: string; right?: string }) => {
    const found = chosenVersions(versions, chosen);
    return [found?.left.key, found?.right.key];
  };
  expect(keys({})).toEqual(['changed', 'gone']);
  expect(keys({ right: 'changed' })).toEqual(['changed:before', 'changed']);
  expect(keys({ left: 'gone', right: 'changed:before' })).toEqual(['gone', 'changed:before']);
  expect(chosenVersions(versions.slice(0, 1), {})).toBeNull();
});

import type { AuditEvent, State } from '@indelible/client';
import { expect, test } from 'vitest';
import { type StateNode, stateTree, visibleNodes } from './state-tree.ts';
import { chosenVersions, unrecordedRestore, versionsOf } from './versions.ts';

/** Each node with the names that lead to it. */
const paths = (nodes: readonly StateNode[], prefix = ''): [string, StateNode][] =>
  nodes.flatMap((node) => [
    [`${prefix}${node.name}`, node] as [string, StateNode],
    ...paths(node.members, `${prefix}${node.name}.`),
  ]);
const differing = (left: State | null, right: State | null) =>
  paths(stateTree(left, right))
    .filter(([, node]) => node.left !== node.right)
    .map(([path, { left, right }]) => [path, left, right]);

test('two states are one tree: nested members, list elements, absent ones', () => {
  const left = { name: 'a', hours: { open: '08:00' }, list: ['x', 'y'] };
  const right = { name: 'a', hours: { open: '09:00' }, list: ['x'] };
  expect(differing(left, right)).toEqual([
    ['hours.open', '08:00', '09:00'],
    ['list.[y]', 'y', undefined],
  ]);
  expect(stateTree(left, right)).toMatchObject([
    { name: 'hours', left: undefined, right: undefined, differing: 1 },
    { name: 'list', differing: 1, members: [{ differing: 0 }, { differing: 1 }] },
    { name: 'name', left: 'a', right: 'a', differing: 0, members: [] },
  ]);
});

test('an inserted element is one difference, and null, absent and empty are told apart', () => {
  const [dogs, cats] = [
    { id: 1, label: 'Dogs' },
    { id: 2, label: 'Cats' },
  ];
  expect(differing({ menu: [dogs, cats] }, { menu: [dogs, { id: 3 }, cats] })).toEqual([
    ['menu.[3]', undefined, 3],
  ]);
  expect(differing({ a: null, b: '', c: null }, { a: '', b: null })).toEqual([
    ['a', null, ''],
    ['b', '', null],
    ['c', null, undefined],
  ]);
});

test('an element is known by its id, and another order is a difference of the list', () => {
  const [ana, bea] = [{ id: 'ana' }, { id: 'bea', role: 'user' }];
  const left = { team: [ana, bea], tags: ['a', 'b'] };
  const right = { team: [{ ...bea, role: 'admin' }], tags: ['b', 'a'] };
  expect(differing(left, right)).toEqual([
    ['tags', '[2 elements]', '[2 elements, in another order]'],
    ['team.[ana]', 'ana', undefined],
    ['team.[bea].role', 'user', 'admin'],
  ]);
});

test('a member whose name holds a dot stays one member, and the tenth element follows the ninth', () => {
  const list = [...Array(11).keys()];
  const tree = stateTree(null, { 'a.b': 1, list });
  expect(tree.map(({ name }) => name)).toEqual(['a.b', 'list']);
  expect(tree[1]?.members.map(({ name }) => name)).toEqual(list.map((n) => `[${n}]`));
});

test('equal members are folded or hidden, and different ones are shown with everything around them', () => {
  const tree = stateTree({ a: { x: 1 }, b: { y: 1, z: 2 } }, { a: { x: 1 }, b: { y: 2, z: 2 } });
  const shown = (onlyDifferences: boolean) =>
    visibleNodes(tree, ({ differing }) => differing > 0, onlyDifferences).map(
      ({ node, depth }) => `${' '.repeat(depth)}${node.name}`,
    );
  expect(shown(false)).toEqual(['a', 'b', ' y', ' z']);
  expect(shown(true)).toEqual(['b', ' y']);
});

test('a difference behind very many equal values is found', () => {
  const many = Object.fromEntries(Array.from({ length: 3_000 }, (_, at) => [`f${at}`, { at }]));
  expect(differing({ ...many, z: 1 }, { ...many, z: 2 })).toEqual([['z', 1, 2]]);
});

const event = (id: string, before: State | null, after: State | null) =>
  ({ id, before, after, action: 'update', recordedBy: { kind: 'api_key' } }) as AuditEvent;
const history = [
  event('gone', { v: 2 }, null),
  event('looked', null, null),
  event('changed', { v: 1 }, { v: 2 }),
];

test('versions are the states after each change, and the one before the first that is known', () => {
  expect(versionsOf(history, true).map(({ key, of, state }) => [key, of, state])).toEqual([
    ['gone', 'after', null],
    ['changed', 'after', { v: 2 }],
    ['changed:before', 'before', { v: 1 }],
  ]);
  expect(versionsOf(history, true).map(({ isCurrent }) => isCurrent)).toEqual([true, false, false]);
});

test('while older events are not loaded, no state is called that before the first change', () => {
  expect(versionsOf(history, false).map(({ key }) => key)).toEqual(['gone', 'changed']);
});

test('a change that was denied or failed is no version', () => {
  const refused = { ...event('refused', { v: 2 }, { v: 3 }), outcome: 'denied' } as const;
  const failed = { ...event('failed', { v: 2 }, { v: 3 }), action: 'update_failed' };
  expect(versionsOf([refused, failed, ...history], true)).toEqual(versionsOf(history, true));
});

test('an applied restore is told until the host has recorded its change, if there is one', () => {
  const own = { action: 'restore', recordedBy: { kind: 'service' } };
  const record = (sequence: number, outcome: string, to = 'before') => {
    const after = { restoreId: 'rst_1', eventId: 'changed', to, outcome };
    const timestamp = `at ${sequence}`;
    return { ...event('restore', null, after), ...own, sequence, timestamp } as AuditEvent;
  };
  const change = (sequence: number) => ({ ...event('changed', { v: 1 }, { v: 2 }), sequence });
  const asked = record(2, 'requested');
  const told = (...events: AuditEvent[]) => unrecordedRestore([...events, asked, change(1)]);
  expect(told(record(3, 'applied'))).toBe('at 3');
  expect(told(record(4, 'refused'), record(3, 'applied'))).toBe('at 3');
  // The host may record the change before it answers, and after.
  expect(told(record(4, 'applied'), change(3))).toBeNull();
  expect(told(change(4), record(3, 'applied'))).toBeNull();
  expect(told()).toBeNull();
  expect(told(record(3, 'refused'))).toBeNull();
  expect(told(record(3, 'applied', 'after'))).toBeNull();
});

test('the older of two versions is on the left; without a choice the current one stands beside the one before', () => {
  const versions = versionsOf(history, true);
  const keys = (chosen: { left?: string; right?: string }) => {
    const found = chosenVersions(versions, chosen);
    return [found?.left.key, found?.right.key];
  };
  expect(keys({})).toEqual(['changed', 'gone']);
  expect(keys({ right: 'changed' })).toEqual(['changed:before', 'changed']);
  expect(keys({ left: 'gone', right: 'changed:before' })).toEqual(['changed:before', 'gone']);
  expect(keys({ left: 'changed', right: 'changed' })).toEqual(['changed:before', 'changed']);
  expect(chosenVersions(versions.slice(0, 1), {})).toBeNull();
  // No other version stands in for one that is not there.
  for (const chosen of [{ right: 'unknown' }, { left: 'unknown' }]) {
    expect(chosenVersions(versions, chosen)).toBeNull();
  }
});

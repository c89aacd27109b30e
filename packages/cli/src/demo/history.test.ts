import { uuidFromEventId, uuidTimeMs } from '@indelible/protocol';
import { expect, test } from 'vitest';
import { demoHistory } from './history.ts';
import { demoTenants } from './load-demo.ts';

const nowMs = Date.UTC(2026, 10, 20, 13, 30);
const [{ cast, seed }] = demoTenants;
const history = demoHistory(cast, seed, nowMs);
const timeOf = (id = '') => uuidTimeMs(uuidFromEventId(id) ?? '');

test('the same day tells the same story, only longer in the evening', () => {
  const evening = demoHistory(cast, seed, nowMs + 6 * 3_600_000);
  expect(evening.length).toBeGreaterThan(history.length);
  expect(evening.slice(0, history.length)).toEqual(history);
});

test('half a year passes, in order, and nothing lies ahead', () => {
  const times = history.map(({ id }) => timeOf(id));
  expect(times).toEqual(times.toSorted((a, b) => a - b));
  expect(nowMs - (times[0] ?? 0)).toBeGreaterThan(180 * 86_400_000);
  expect(times.at(-1)).toBeLessThanOrEqual(nowMs);
  expect(history.length).toBeGreaterThan(3_000);
});

test('each change begins with the state that the one before it left', () => {
  const states = new Map<string, unknown>();
  let changes = 0;
  for (const { resource, before, after } of history) {
    if (before === undefined && after === undefined) continue;
    expect(states.get(String(resource.id))).toEqual(before);
    states.set(String(resource.id), after);
    changes += 1;
  }
  expect(changes).toBeGreaterThan(300);
});

test('operators come with and without a reason, and one night stands out', () => {
  const operators = history.filter(({ actor }) => actor.role === 'superadmin');
  expect(operators.some(({ reason }) => reason === null)).toBe(true);
  expect(operators.some(({ reason }) => typeof reason === 'string')).toBe(true);
  const perHour = new Map<string, number>();
  for (const { id, actor, resource } of history) {
    if (resource.type !== 'recording') continue;
    const key = `${actor.id} ${Math.floor(timeOf(id) / 3_600_000)}`;
    perHour.set(key, (perHour.get(key) ?? 0) + 1);
  }
  const [most = 0, next = 0] = [...perHour.values()].sort((a, b) => b - a);
  expect(most).toBeGreaterThan(50);
  expect(next).toBeLessThan(most / 3);
});

test('an assistant acts for people, and is denied or fails, all of one request under one id', () => {
  const acts = history.filter(({ actor }) => actor.type === 'agent');
  const requests = Map.groupBy(acts, ({ correlationId }) => correlationId);
  expect(requests.size).toBeGreaterThan(20);
  for (const [id, [first, ...others]] of requests) {
    expect(id).toMatch(/^chat-/);
    expect(first).toMatchObject({ outcome: 'success', onBehalfOf: [{ role: 'admin' }] });
    expect(others.map(({ outcome }) => outcome)).toEqual(['denied', 'failure']);
  }
});

test('every kind of event the product is for is told', () => {
  const actions = new Set(history.map(({ action, resource }) => `${action} ${resource.type}`));
  for (const kind of [
    ...['create queue', 'delete queue', 'update ivr', 'publish ivr', 'update recording_policy'],
    ...['update user_role', 'update did', 'update agent', 'access recording', 'download recording'],
    ...['read transcript', 'login session', 'login_failed user', 'connect crm', 'access audit_log'],
  ]) {
    expect(actions).toContain(kind);
  }
});

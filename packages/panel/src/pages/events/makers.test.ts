import type { AuditEvent } from '@indelible/client';
import { expect, test } from 'vitest';
import { makersOf } from './makers.ts';

const platform = { kind: 'platform', id: '6c2cabb0-cd7b-8200-8fc6-d6e38232b9d5' };

const event = (kind: 'service' | 'api_key', states: object) =>
  ({ recordedBy: { kind, id: platform.id }, before: null, after: null, ...states }) as AuditEvent;

test('the maker of a session or key is read from records of the service alone', () => {
  expect(makersOf(event('service', { after: { openedBy: platform, outcome: 'made' } }))).toEqual([
    { mark: 'openedBy', maker: platform },
  ]);
  expect(makersOf(event('service', { before: { keyMadeBy: platform } }))).toEqual([
    { mark: 'keyMadeBy', maker: platform },
  ]);
  expect(makersOf(event('api_key', { after: { openedBy: platform } }))).toEqual([]);
  for (const openedBy of [null, 'platform', { kind: 'other', id: 'x' }, undefined]) {
    expect(makersOf(event('service', { after: { openedBy } }))).toEqual([]);
  }
});

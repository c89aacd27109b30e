import { expect, test } from 'vitest';
import { boundTenantId, nowMs, refused, taken } from '../testing/take-context.ts';
import { eventIdFromUuid, eventUuid, uuidTimeMs } from './event-id.ts';

const idAt = (timeMs: number) => eventIdFromUuid(eventUuid(timeMs, new Uint8Array(10).fill(7)));
const iso = (timeMs: number) => new Date(timeMs).toISOString();
const minute = 60_000;

test('an id that was sent is kept, and its millisecond is the timestamp', () => {
  const id = idAt(nowMs - 5);
  const { event } = taken({ id });
  expect(eventIdFromUuid(event.uuid)).toBe(id);
  expect(uuidTimeMs(event.uuid)).toBe(nowMs - 5);
});

test('an id and a timestamp of the same millisecond agree, whatever the offset and finer digits', () => {
  const id = idAt(nowMs);
  for (const timestamp of [
    iso(nowMs),
    '2025-09-03T12:00:00.123+02:00',
    '2025-09-03T05:30:00.123999-0430',
    '2025-09-03T10:00:00.123',
  ]) {
    expect(eventIdFromUuid(taken({ id, timestamp }).event.uuid)).toBe(id);
  }
});

test('with a timestamp alone the id is made from it; with neither, both are now', () => {
  expect(uuidTimeMs(taken({ timestamp: '2020-01-01T00:00:00.001Z' }).event.uuid)).toBe(
    Date.UTC(2020, 0, 1, 0, 0, 0, 1),
  );
  expect(uuidTimeMs(taken().event.uuid)).toBe(nowMs);
  expect(taken().event.uuid).not.toBe(taken().event.uuid);
});

test('an id whose time differs from the timestamp by one millisecond is a mismatch', () => {
  for (const difference of [-1, 1]) {
    expect(refused({ id: idAt(nowMs), timestamp: iso(nowMs + difference) })).toEqual({
      code: 'id_timestamp_mismatch',
      detail: '/timestamp differs from the time within the id',
      errors: ['/timestamp id_timestamp_mismatch'],
    });
  }
});

test('an id or timestamp that is none, and one of another type, are refused', () => {
  for (const [id, timestamp] of [
    ['x', 'now'],
    [idAt(nowMs).toUpperCase(), '2025-02-29'],
    ['', ''],
  ]) {
    const { code, errors } = refused({ id, timestamp });
    expect(code).toBe('validation_failed');
    expect(errors).toEqual(['/id invalid_format', '/timestamp invalid_format']);
  }
  for (const wrong of [null, 5, [idAt(nowMs)]]) {
    expect(refused({ id: wrong, timestamp: wrong }).errors).toEqual([
      '/id invalid_type',
      '/timestamp invalid_type',
    ]);
  }
});

test('a clock may be five minutes ahead and not a millisecond more', () => {
  const edge = nowMs + 5 * minute;
  expect(uuidTimeMs(taken({ timestamp: iso(edge) }).event.uuid)).toBe(edge);
  expect(uuidTimeMs(taken({ id: idAt(edge) }).event.uuid)).toBe(edge);
  expect(refused({ timestamp: iso(edge + 1) })).toEqual({
    code: 'timestamp_in_future',
    detail: "/timestamp is more than 5 minutes ahead of the service's clock",
    errors: ['/timestamp timestamp_in_future'],
  });
  expect(refused({ id: idAt(edge + 1) }).errors).toEqual(['/id timestamp_in_future']);
  expect(refused({ id: idAt(2 ** 48 - 1) }).code).toBe('timestamp_in_future');
});

test('a bound credential may leave its tenant out or name it in any case', () => {
  expect(taken().event.tenantId).toBe(boundTenantId);
  expect(taken({ tenantId: boundTenantId }).event.tenantId).toBe(boundTenantId);
  expect(taken({ tenantId: boundTenantId.toUpperCase() }).event.tenantId).toBe(boundTenantId);
});

test('a bound credential that names another tenant is forbidden to', () => {
  const tenantId = 'aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeef';
  expect(refused({ tenantId }).code).toBe('forbidden');
  expect(refused({ tenantId: 'other' }).code).toBe('forbidden');
  expect(refused({ tenantId: '!other' }).errors).toEqual(['/tenantId invalid_format']);
  expect(refused({ tenantId: null }).errors).toEqual(['/tenantId invalid_type']);
});

test('a platform-bound credential must name the tenant', () => {
  const platform = { boundTenantId: null };
  expect(taken({ tenantId: boundTenantId.toUpperCase() }, platform).event.tenantId).toBe(
    boundTenantId,
  );
  expect(refused({}, platform)).toMatchObject({
    code: 'validation_failed',
    errors: ['/tenantId required'],
  });
});

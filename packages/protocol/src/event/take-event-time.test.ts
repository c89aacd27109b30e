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

test('an id that is not exactly a TypeID of a UUIDv7 with our prefix is refused', () => {
  const id = idAt(nowMs);
  const [prefix, suffix] = [id.slice(0, 10), id.slice(10)];
  const version4 = eventIdFromUuid('7f9c2ba4-e88f-4a1b-9c3d-1f2e3d4c5b6a');
  const otherVariant = eventIdFromUuid('01990f04-d97b-7abc-cdef-0123456789ab');
  const malformed = [
    ...['', 'x', suffix, `evt_${suffix}`, `EVT_AUDIT_${suffix}`, `evt_audit${suffix}`],
    ...[prefix + suffix.toUpperCase(), `${id}0`, id.slice(0, -1), ` ${id}`, `${id}\n`],
    ...[`${prefix}8${suffix.slice(1)}`, `${prefix}${suffix.slice(0, -1)}u`, `${id.slice(0, -1)}l`],
    ...['01990f04-d97b-7abc-8def-0123456789ab', version4, otherVariant],
  ];
  for (const wrong of malformed) {
    expect(refused({ id: wrong }).errors, wrong).toEqual(['/id invalid_format']);
    expect(refused({ id: wrong }).code, wrong).toBe('validation_failed');
  }
  for (const wrong of [null, 5, true, {}, [id]]) {
    expect(refused({ id: wrong }).errors).toEqual(['/id invalid_type']);
  }
});

test('a moment is read with its offset; none means UTC, a date alone its midnight in UTC', () => {
  for (const [timestamp, expected] of [
    ['2025-09-03T10:00:00Z', '2025-09-03T10:00:00.000Z'],
    ['2025-09-03t10:00:00z', '2025-09-03T10:00:00.000Z'],
    ['2025-09-03T01:00:00.5+14:00', '2025-09-02T11:00:00.500Z'],
    ['2025-09-02T23:59:59.999-09:30', '2025-09-03T09:29:59.999Z'],
    ['2025-09-03T10:00', '2025-09-03T10:00:00.000Z'],
    ['2025-09-03', '2025-09-03T00:00:00.000Z'],
    ['2024-02-29T00:00:00.1239Z', '2024-02-29T00:00:00.123Z'],
  ]) {
    expect(iso(uuidTimeMs(taken({ timestamp }).event.uuid)), timestamp).toBe(expected);
  }
});

test('what is no moment is refused', () => {
  for (const timestamp of [
    ...['', 'now', '2025-02-29', '2025-13-01', '2025-09-03 10:00:00', '2025-09-03T24:00:00Z'],
    ...['2025-09-03T10:00:60Z', '1969-12-31T23:59:59.999Z', '03.09.2025', '1756893600123'],
    ...['2025-09-03T10:00:00Z\n', "2025-09-03'--", '2025-09-03T10:00:00+25:00'],
  ]) {
    expect(refused({ timestamp }).errors, timestamp).toEqual(['/timestamp invalid_format']);
  }
  expect(refused({ timestamp: nowMs }).errors).toEqual(['/timestamp invalid_type']);
  expect(refused({ timestamp: null }).errors).toEqual(['/timestamp invalid_type']);
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
  expect(refused({ tenantId: 'other' }).errors).toEqual(['/tenantId invalid_format']);
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

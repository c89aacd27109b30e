import { expect, test } from 'vitest';
import { errorCodes, warningCodes } from './error-codes.ts';

const promised: Record<number, string> = {
  400: 'malformed_json unknown_parameter invalid_parameter invalid_cursor page_too_deep',
  401: 'unauthenticated',
  403: 'forbidden reason_required',
  404: 'not_found',
  405: 'method_not_allowed',
  409: 'id_conflict conflict',
  410: 'gone',
  413: 'payload_too_large',
  415: 'unsupported_media_type',
  416: 'range_not_satisfiable',
  408: 'request_timeout',
  422:
    'validation_failed not_recordable id_timestamp_mismatch timestamp_in_future ' +
    'outside_retention unknown_tenant cross_tenant_mismatch',
  429: 'rate_limited',
  500: 'internal_error',
  503: 'unavailable too_slow log_damaged',
};

test('every promised code exists with its status, and no other', () => {
  const byStatus = Object.entries(promised).flatMap(([status, codes]) =>
    codes.split(' ').map((code) => [code, Number(status)]),
  );
  const table = Object.entries(errorCodes).map(([code, { status }]) => [code, status]);
  expect(Object.fromEntries(table)).toEqual(Object.fromEntries(byStatus));
});

test('every code says what happened and, in a sentence, what to do next', () => {
  for (const { title, help } of Object.values(errorCodes)) {
    expect(title).toMatch(/^[A-Z].*[^.]$/);
    expect(help).toMatch(/^[A-Z].*\.$/);
  }
  const titles = Object.values(errorCodes).map(({ title }) => title);
  expect(new Set(titles).size).toBe(titles.length);
});

test('the answer to a page too deep names the cursor', () => {
  expect(errorCodes.page_too_deep.help).toContain('cursor');
});

test('the warnings are the ten of the event rules, each explained in a sentence', () => {
  expect(Object.keys(warningCodes).sort()).toEqual([
    ...['backdated', 'diff_truncated', 'number_as_text', 'operator_email_missing'],
    ...['reason_missing', 'role_resembles_operator', 'secret_masked', 'state_missing', 'truncated'],
    'value_dropped',
  ]);
  for (const text of Object.values(warningCodes)) expect(text).toMatch(/^[A-Z].*\.$/);
});

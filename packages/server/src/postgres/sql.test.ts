import { expect, test } from 'vitest';
import { raw, sql } from './sql.ts';

test('a value becomes a parameter, however it is spelt', () => {
  const { text, values } = sql`SELECT ${"'; DROP TABLE tenants"} WHERE id = ${7}`;
  expect(text).toBe('SELECT $1 WHERE id = $2');
  expect(values).toEqual(["'; DROP TABLE tenants", 7]);
});

test('parts of statements stand in it with their own values, in the order of the text', () => {
  const columns = sql`id, name`;
  const ofTenant = sql`tenant_id = ${'t'} AND kind = ${'k'}`;
  const query = sql`SELECT ${columns} FROM ${raw('views')} WHERE ${ofTenant} AND id = ${'i'} LIMIT 1`;
  expect(query.text).toBe(
    'SELECT id, name FROM views WHERE tenant_id = $1 AND kind = $2 AND id = $3 LIMIT 1',
  );
  expect(query.values).toEqual(['t', 'k', 'i']);
});

test('equal texts have one name, which PostgreSQL takes; others have another', () => {
  const named = (id: number) => sql`SELECT ${id}`.name;
  expect(named(1)).toBe(named(2));
  expect(named(1)).not.toBe(sql`SELECT ${1}, 2`.name);
  expect(named(1).length).toBeLessThan(64);
});

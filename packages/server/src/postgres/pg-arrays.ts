import { uuidBytes } from '@indelible/protocol';

/*
 * Arrays in PostgreSQL's binary format (array_send in src/backend/utils/adt/arrayfuncs.c): i32
 * dimensions, i32 has-nulls, u32 element type, then per dimension i32 size, i32 lower bound, then
 * per element i32 length (-1 = null) and its bytes. `pg` sends a Buffer as binary, without escapes.
 */

const oids = {
  bytea: 17,
  int8: 20,
  int2: 21,
  text: 25,
  json: 114,
  uuid: 2950,
};

function header(target: Buffer, oid: number, count: number): number {
  target.writeInt32BE(count === 0 ? 0 : 1, 0);
  target.writeInt32BE(1, 4);
  target.writeUInt32BE(oid, 8);
  if (count === 0) return 12;
  target.writeInt32BE(count, 12);
  target.writeInt32BE(1, 16);
  return 20;
}

function fixed<T>(
  oid: number,
  size: number,
  values: readonly T[],
  put: (target: Buffer, value: T, at: number) => void,
): Buffer {
  const target = Buffer.allocUnsafe(20 + values.length * (4 + size));
  let at = header(target, oid, values.length);
  for (const value of values) {
    target.writeInt32BE(size, at);
    put(target, value, at + 4);
    at += 4 + size;
  }
  return target.subarray(0, at);
}

export const uuidArray = (values: readonly string[]): Buffer =>
  fixed(oids.uuid, 16, values, (target, value, at) => uuidBytes(value, target, at));

export const int2Array = (values: readonly number[]): Buffer =>
  fixed(oids.int2, 2, values, (target, value, at) => target.writeInt16BE(value, at));

const putInt8 = (target: Buffer, value: number, at: number) => {
  target.writeInt32BE(Math.floor(value / 2 ** 32), at);
  target.writeUInt32BE(value - Math.floor(value / 2 ** 32) * 2 ** 32, at + 4);
};

/** Safe integers as int8. */
export const int8Array = (values: readonly number[]): Buffer =>
  fixed(oids.int8, 8, values, putInt8);

export const byteaArray = (values: readonly Uint8Array[]): Buffer => {
  const size = values.reduce((sum, value) => sum + 4 + value.length, 20);
  const target = Buffer.allocUnsafe(size);
  let at = header(target, oids.bytea, values.length);
  for (const value of values) {
    target.writeInt32BE(value.length, at);
    target.set(value, at + 4);
    at += 4 + value.length;
  }
  return target.subarray(0, at);
};

/** The text of a bytea. */
export const byteaText = (value: Uint8Array): string =>
  `\\x${Buffer.from(value.buffer, value.byteOffset, value.length).toString('hex')}`;

export const textArray = (values: readonly (string | null)[]): Buffer => strings(oids.text, values);
export const jsonArray = (values: readonly (string | null)[]): Buffer => strings(oids.json, values);

function strings(oid: number, values: readonly (string | null)[]): Buffer {
  let bound = 20; // UTF-8 takes at most three bytes a UTF-16 unit
  for (const value of values) bound += 4 + (value === null ? 0 : value.length * 3);
  const target = Buffer.allocUnsafe(bound);
  let at = header(target, oid, values.length);
  for (const value of values) {
    const length = value === null ? -1 : target.write(value, at + 4);
    target.writeInt32BE(length, at);
    at += 4 + Math.max(length, 0);
  }
  return target.subarray(0, at);
}

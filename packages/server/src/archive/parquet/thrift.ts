/*
 * Thrift's compact protocol, as much of it as the headers of a Parquet file need:
 * https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md
 */

export interface ThriftValue {
  /** The number of its type. */
  type: number;
  bytes: Buffer;
}

/** Integers are never negative here. */
export const i32 = (value: number): ThriftValue => ({ type: 5, bytes: varint(2 * value) });
export const i64 = (value: number): ThriftValue => ({ type: 6, bytes: varint(2 * value) });
/** As a member of a struct. */
export const no: ThriftValue = { type: 2, bytes: Buffer.alloc(0) };

export function binary(content: string | Uint8Array): ThriftValue {
  const bytes = Buffer.from(content);
  return { type: 8, bytes: Buffer.concat([varint(bytes.length), bytes]) };
}

/** Values of one type, at least one. */
export function list(values: readonly ThriftValue[]): ThriftValue {
  const type = values[0]?.type ?? 0;
  const { length } = values;
  const head = length < 15 ? [(length << 4) | type] : [0xf0 | type, ...varint(length)];
  return { type: 9, bytes: Buffer.concat([Buffer.from(head), ...values.map((v) => v.bytes)]) };
}

/** By the ids of its members; an undefined one is absent. */
export function struct(members: Readonly<Record<number, ThriftValue | undefined>>): ThriftValue {
  const pieces: Uint8Array[] = [];
  let last = 0;
  // Integers as names come in ascending order.
  for (const [name, value] of Object.entries(members)) {
    if (value === undefined) continue;
    const id = Number(name);
    pieces.push(Buffer.of(((id - last) << 4) | value.type), value.bytes);
    last = id;
  }
  return { type: 12, bytes: Buffer.concat([...pieces, Buffer.of(0)]) };
}

/** Seven bits a byte, the lowest first. */
export function varint(value: number): Buffer {
  const bytes: number[] = [];
  let left = value;
  for (; left >= 0x80; left = Math.floor(left / 0x80)) bytes.push((left % 0x80) | 0x80);
  bytes.push(left);
  return Buffer.from(bytes);
}

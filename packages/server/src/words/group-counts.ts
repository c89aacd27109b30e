/** The value of a key, or the number of a time's bucket; null: the events without a value. */
export type KeyValue = string | number | null;

/** Numbers values, so that groups are counted by numbers. */
export class Codes<Value> {
  readonly values: Value[] = [];
  readonly #codes = new Map<Value, number>();

  of(value: Value): number {
    const known = this.#codes.get(value);
    if (known !== undefined) return known;
    this.#codes.set(value, this.values.length);
    return this.values.push(value) - 1;
  }

  find(value: Value): number | undefined {
    return this.#codes.get(value);
  }
}

/** A group by the codes of its two keys. */
export interface Group {
  first: number;
  second: number;
  count: number;
}

/**
 * Counts of groups by two keys, and the last address of each user. A hash table in typed arrays,
 * because each event of a range is counted here.
 */
export class GroupCounts {
  readonly keys = [new Codes<KeyValue>(), new Codes<KeyValue>()] as const;
  size = 0;
  #firsts = new Uint32Array(1_024);
  #seconds = new Uint32Array(1_024);
  /** 0: no group. */
  #counts = new Float64Array(1_024);
  /** By the code of the user. */
  readonly #lastIds: string[] = [];
  readonly #lastAddresses: string[] = [];

  /** Adds to the group of these codes. */
  add(first: number, second: number, count: number): void {
    const mask = this.#counts.length - 1;
    let at = (Math.imul(first, 0x9e3779b1) + Math.imul(second, 0x85ebca6b)) >>> 8;
    for (at &= mask; (this.#counts[at] as number) > 0; at = (at + 1) & mask) {
      if (this.#firsts[at] !== first || this.#seconds[at] !== second) continue;
      (this.#counts[at] as number) += count;
      return;
    }
    this.#firsts[at] = first;
    this.#seconds[at] = second;
    this.#counts[at] = count;
    this.size++;
    if (4 * this.size > 3 * mask) this.#grow();
  }

  /** An event with this id, or one that is greater than it, has the address of the user. */
  sawAddress(user: number, id: string, address: string): void {
    if (id < this.lastId(user)) return;
    this.#lastIds[user] = id;
    this.#lastAddresses[user] = address;
  }

  /** Of the last event that was seen with the user's address; '': none. */
  lastId(user: number): string {
    return this.#lastIds[user] ?? '';
  }

  lastAddress(user: number): string | null {
    return this.#lastAddresses[user] ?? null;
  }

  groups(): Group[] {
    const groups: Group[] = [];
    for (let at = 0; at < this.#counts.length; at++) {
      const count = this.#counts[at] as number;
      if (count === 0) continue;
      const [first, second] = [this.#firsts[at] as number, this.#seconds[at] as number];
      groups.push({ first, second, count });
    }
    return groups;
  }

  #grow(): void {
    const groups = this.groups();
    const length = 4 * this.#counts.length;
    this.#firsts = new Uint32Array(length);
    this.#seconds = new Uint32Array(length);
    this.#counts = new Float64Array(length);
    this.size = 0;
    for (const { first, second, count } of groups) this.add(first, second, count);
  }
}

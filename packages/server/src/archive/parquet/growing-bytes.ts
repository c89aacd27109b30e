/** Bytes that are appended to, in a buffer that grows. */
export class GrowingBytes {
  #buffer = Buffer.allocUnsafe(1_024);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** The bytes so far, valid until the next call that appends. */
  bytes(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }

  clear(): void {
    this.#length = 0;
  }

  byte(value: number): void {
    this.#reserve(1);
    this.#buffer[this.#length] = value;
    this.#length += 1;
  }

  append(bytes: Uint8Array): void {
    this.#reserve(bytes.length);
    this.#buffer.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  /** Four bytes of length, the lowest first, and the content. */
  prefixed(content: string | Uint8Array): void {
    const bytesMax = typeof content === 'string' ? 3 * content.length : content.length;
    this.#reserve(4 + bytesMax);
    const at = this.#length + 4;
    let length = content.length;
    if (typeof content === 'string') length = this.#buffer.write(content, at);
    else this.#buffer.set(content, at);
    this.#buffer.writeUInt32LE(length, this.#length);
    this.#length = at + length;
  }

  /** Eight bytes, the lowest first. At least 0. */
  int64(value: number): void {
    this.#reserve(8);
    this.#buffer.writeUInt32LE(value % 2 ** 32, this.#length);
    this.#buffer.writeUInt32LE(Math.floor(value / 2 ** 32), this.#length + 4);
    this.#length += 8;
  }

  #reserve(more: number): void {
    const needed = this.#length + more;
    if (needed <= this.#buffer.length) return;
    const larger = Buffer.allocUnsafe(Math.max(needed, 2 * this.#buffer.length));
    this.#buffer.copy(larger, 0, 0, this.#length);
    this.#buffer = larger;
  }
}

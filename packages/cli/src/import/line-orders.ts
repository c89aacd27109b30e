/** The largest order that fits into the 12 bits of an id. */
const orderMax = 4_095;
/** Lines that are remembered; the timestamps that came first are forgotten first. */
const rememberedMax = 1_000_000;

/**
 * The position of a line among the lines of its tenant and timestamp: lists show events of one
 * timestamp in this order. A repeated line keeps its first position, so that it gets the same id.
 * From the 4,096th line of a timestamp on, all have the last position, and no order.
 */
export class LineOrders {
  readonly #groups = new Map<string, Map<number, number>>();
  #remembered = 0;

  /** `digest` has at least 8 bytes; equal digests are one line. */
  of(tenantId: string, timeMs: number, digest: Uint8Array): number {
    const name = `${tenantId} ${timeMs}`;
    const group = this.#groups.get(name) ?? this.#begin(name);
    const line = numberOf(digest);
    const known = group.get(line);
    if (known !== undefined) return known;
    const order = group.size;
    if (order >= orderMax) return orderMax;
    group.set(line, order);
    this.#remembered += 1;
    return order;
  }

  #begin(name: string): Map<number, number> {
    for (const [oldest, { size }] of this.#groups) {
      if (this.#remembered < rememberedMax) break;
      this.#groups.delete(oldest);
      this.#remembered -= size;
    }
    const group = new Map<number, number>();
    this.#groups.set(name, group);
    return group;
  }
}

/** The first 53 bits of a hash: as many as a number holds. */
export function numberOf(hash: Uint8Array): number {
  const view = new DataView(hash.buffer, hash.byteOffset);
  return view.getUint32(0) * 2 ** 21 + (view.getUint32(4) >>> 11);
}

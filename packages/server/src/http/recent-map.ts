/** A map that holds the `max` entries that were set last. */
export class RecentMap<Value> extends Map<string, Value> {
  readonly #max: number;

  constructor(max: number) {
    super();
    this.#max = max;
  }

  override set(key: string, value: Value): this {
    this.delete(key); // to the end of the map's order: the first entry was set longest ago
    super.set(key, value);
    if (this.size <= this.#max) return this;
    const [oldest = key] = this.keys();
    this.delete(oldest);
    return this;
  }
}

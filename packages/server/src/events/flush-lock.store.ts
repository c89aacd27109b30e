import type { WriterTx } from '../postgres/db.ts';
import { isSharded } from '../postgres/engine.ts';
import { firstRow } from '../postgres/sql.ts';

/**
 * Makes the processes of one `serve` flush one after the other: the events that come while one
 * waits are in its flush, so flushes stay large, and no head is locked by another one. The lock
 * ends with the transaction, so also when its process is killed. A flush that PostgreSQL holds up
 * delays the next one of each other process by `waitMs`, and further ones by a tenth of that. Not
 * on a cluster, where a flush is a transaction for each node.
 */
export class FlushLock {
  readonly #name: string;
  readonly #waitMs: number;
  #isHeldUp = false;

  constructor(name: string, waitMs: number) {
    this.#name = name;
    this.#waitMs = waitMs;
  }

  /** True if more events may have come meanwhile. To be called before other locks are taken. */
  async take(tx: WriterTx): Promise<boolean> {
    if (isSharded(tx)) return false;
    const waitMs = this.#isHeldUp ? this.#waitMs / 10 : this.#waitMs;
    const row = await firstRow<{ taken: boolean }>(tx)`
      SELECT take_flush_lock(${this.#name}, ${waitMs}) AS taken`;
    this.#isHeldUp = row?.taken !== true;
    return true;
  }
}

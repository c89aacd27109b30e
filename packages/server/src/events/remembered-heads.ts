import { lateClass } from '@indelible/protocol';
import type { LogHead } from '../log/sequencer.ts';

/** A head takes about 1 KiB. */
const headsMax = 5_000;

/**
 * The most flushes in a row that do not use what is remembered, with the one that is repeated. One
 * of a hundred that is repeated would show in the slowest percent of the answers.
 */
const pauseMax = 1_024;

/**
 * Heads as the flushes of this process have left them, so that the next flush need not ask for
 * them. The database compares and locks them before it records, so nothing depends on what is
 * remembered. But a head that another process has moved costs a round trip: the more often that
 * happens, the fewer flushes try.
 */
export class RememberedHeads {
  readonly #heads = new Map<string, LogHead>();
  #pause = 1;
  #paused = 0;

  /** The heads of these tenants; null if a flush must lock them first. */
  of(tenantIds: Iterable<string>): LogHead[] | null {
    if (this.#paused > 0) {
      this.#paused--;
      return null;
    }
    const heads: LogHead[] = [];
    for (const tenantId of tenantIds) {
      const head = this.#heads.get(tenantId);
      if (!head) return null;
      heads.push(head);
    }
    return heads;
  }

  /**
   * After a commit, the heads that it leaves. Not of closed logs, nor of those whose events move
   * between classes: recording in them takes further questions.
   */
  keep(heads: readonly LogHead[]): void {
    for (const head of heads) {
      this.#heads.delete(head.tenantId); // those that are used least recently come first
      const isPlain = !head.isClosed && head.otherClasses.every((each) => each === lateClass);
      if (isPlain) this.#heads.set(head.tenantId, head);
    }
    for (const tenantId of this.#heads.keys()) {
      if (this.#heads.size <= headsMax) break;
      this.#heads.delete(tenantId);
    }
  }

  /** After a flush that found the heads as they were remembered. */
  matched(): void {
    this.#pause = Math.max(1, this.#pause / 2);
  }

  /** After one that did not. */
  mismatched(tenantIds: Iterable<string>): void {
    for (const tenantId of tenantIds) this.#heads.delete(tenantId);
    this.#paused = this.#pause;
    this.#pause = Math.min(2 * this.#pause, pauseMax);
  }
}

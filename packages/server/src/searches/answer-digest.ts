import { createHash, type Hash } from 'node:crypto';
import { eventIdFromUuid } from '@indelible/protocol';

/** The number of matches, and the SHA-256 of their ids. */
export interface Answer {
  matched: number;
  digest: Uint8Array;
}

/**
 * Digests an answer: SHA-256 over the events' ids (`evt_audit_…`) in list order, newest first,
 * joined by single line feeds, none at the end. Without a match: the SHA-256 of an empty text.
 */
export class AnswerDigest {
  readonly #hash: Hash = createHash('sha256');
  #matched = 0;

  add(uuid: string): void {
    this.#hash.update((this.#matched === 0 ? '' : '\n') + eventIdFromUuid(uuid));
    this.#matched += 1;
  }

  get matched(): number {
    return this.#matched;
  }

  /** Call it once. */
  end(): Answer {
    return { matched: this.#matched, digest: this.#hash.digest() };
  }
}

export function sameAnswer(one: Answer, other: Answer): boolean {
  return one.matched === other.matched && Buffer.compare(one.digest, other.digest) === 0;
}

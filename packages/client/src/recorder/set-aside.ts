import { randomUUID } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { counted } from '@indelible/protocol';
import type { Delivery, Outcome } from '../delivery/deliver-batch.ts';
import { errorOf } from '../error-of.ts';
import type { IndelibleError } from '../http/errors.ts';
import { appendDurably } from './spool-file.ts';

/** A file with events that failed alone; the recorder does not send them again. */
export class SetAside {
  readonly #root: string;
  readonly #path: string;
  readonly #bytesMax: number;
  readonly #warn: (error: Error) => void;
  #bytes = 0;

  /** `root`: the spool folder. `bytesMax`: of the file. */
  constructor(root: string, bytesMax: number, warn: (error: Error) => void) {
    this.#root = root;
    this.#path = join(root, 'set-aside', `${randomUUID()}.ndjson`);
    this.#bytesMax = bytesMax;
    this.#warn = warn;
  }

  /** Writes a delivery's refused events to the file. If that fails, they must be sent again. */
  keep(texts: readonly string[], delivery: Delivery): Delivery {
    const { outcomes, trouble } = delivery;
    const refused = outcomes.flatMap((outcome, at) =>
      isSetAside(outcome) ? [{ text: texts[at] ?? '', error: outcome.error }] : [],
    );
    const [first] = refused;
    if (first === undefined) return delivery;
    try {
      this.#append(refused.map(lineOf).join(''));
      const what = counted(refused.length, 'event');
      const why = `${first.error.message}. Each failed alone while others passed`;
      this.#warn(new Error(`set aside in ${this.#path}: ${what}: ${why}`));
      return delivery;
    } catch (cause) {
      const error = new Error(`${this.#path} takes no events: ${errorOf(cause).message}`, {
        cause,
      });
      if (trouble !== null) this.#warn(error); // only the trouble of the delivery is told later
      return {
        outcomes: outcomes.map((each) => (isSetAside(each) ? { status: 'again' } : each)),
        trouble: trouble ?? { kind: 'refused', scope: 'tenants', error },
      };
    }
  }

  #append(lines: string): void {
    const bytes = Buffer.byteLength(lines);
    if (this.#bytes + bytes > this.#bytesMax) {
      throw new Error(`it is full (spoolBytesMax: ${this.#bytesMax})`);
    }
    makeSetAside(this.#root);
    appendDurably(this.#path, Buffer.from(lines));
    this.#bytes += bytes;
  }
}

type SetAsideOutcome = Extract<Outcome, { refusedBy: unknown }>;

const isSetAside = (outcome: Outcome): outcome is SetAsideOutcome =>
  outcome.status === 'rejected' && outcome.refusedBy === 'other';

/** Makes the folder of events and files that are set aside, and returns its path. */
export function makeSetAside(root: string): string {
  const path = join(root, 'set-aside');
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  return path;
}

/** The event stands as it was sent, also if it is no JSON. */
function lineOf({ text, error }: { text: string; error: IndelibleError }): string {
  const { status, message, requestId } = error;
  const answer = JSON.stringify({ at: new Date(), status, message, requestId });
  return `{"answer":${answer},"event":${text}}\n`;
}

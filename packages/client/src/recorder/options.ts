import { batchEventsMax } from '@indelible/protocol';
import type { EventInput } from '../api-types.ts';
import type { BatchClient } from '../delivery/deliver-batch.ts';
import { given } from '../delivery/given.ts';
import type { InvalidEventError } from '../delivery/invalid-event-error.ts';
import { rejectionText } from '../delivery/rejection-text.ts';
import type { IndelibleError } from '../http/errors.ts';

export interface RecorderOptions {
  client: BatchClient;
  /** The tenant of events without one. */
  tenantId?: string;
  /**
   * Key names whose values are masked before anything leaves or is written, besides `password` etc.
   */
  maskedKeys?: readonly string[];
  /** Where events wait on disk; processes may share it. Without one they wait in memory alone. */
  spoolFolder?: string;
  /**
   * Writes each event to the spool before `record` returns, so that `kill -9` loses none that was
   * recorded; it costs the caller one write to the operating system. Needs `spoolFolder`.
   */
  durable?: boolean;
  /** Events that memory holds at most; 10,000. */
  eventsMax?: number;
  /** Their bytes at most; 16 MiB. */
  bytesMax?: number;
  /** How long an event waits for others to go with; 200 ms. */
  flushMs?: number;
  /** Events a call, 1 to 1,000; 500. */
  batchMax?: number;
  /** How long an answer is waited for before what was sent goes to the spool as well; 2,000 ms. */
  spoolAfterMs?: number;
  /** Bytes that the spool takes at most; 1 GiB. */
  spoolBytesMax?: number;
  /** How much of the spool, in time, a power failure may cost; 1,000 ms. */
  fsyncMs?: number;
  /** Flushes and closes when the process ends by itself, by SIGTERM or by SIGINT. */
  closeOnExit?: boolean;
  /**
   * An event that the service will never take, or that
   * was none. After a crash it may be told again.
   */
  onRejected?: (event: EventInput, error: IndelibleError | InvalidEventError) => void;
  /** An event that found room neither in memory nor on disk: nobody else holds it now. */
  onLost?: (event: EventInput, why: LossReason) => void;
  /** Events begin to go to the spool: the service is away, slow, or overrun. */
  onSpooled?: () => void;
  /** Anything else that somebody should look at: a refused key, a full disk, a damaged file. */
  onWarning?: (error: Error) => void;
}

export type LossReason = 'buffer_full' | 'closed';

export interface RecorderStats {
  /** In memory, those under way included. */
  buffered: number;
  /** On disk, of this recorder and of those it has taken over. */
  spooled: number;
  spooledBytes: number;
  /** Acknowledged by the service. */
  sent: number;
  rejected: number;
  lost: number;
}

export type Settings = Required<Omit<RecorderOptions, 'tenantId' | 'maskedKeys' | 'spoolFolder'>>;

const limits = [
  ...(['eventsMax', 'bytesMax', 'flushMs', 'batchMax'] as const),
  ...(['spoolAfterMs', 'spoolBytesMax', 'fsyncMs'] as const),
];

/** Throws RangeError for a limit that is none, TypeError for `durable` without a folder. */
export function settingsOf(options: RecorderOptions): Settings {
  const settings: Settings = {
    durable: false,
    eventsMax: 10_000,
    bytesMax: 16 * 2 ** 20,
    flushMs: 200,
    batchMax: 500,
    spoolAfterMs: 2_000,
    spoolBytesMax: 2 ** 30,
    fsyncMs: 1_000,
    closeOnExit: false,
    onRejected: (event, error) =>
      warnRejected(`the audit event ${event.id} was refused: ${rejectionText(error)}`),
    onLost: (event, why) => warnLost(`the audit event ${event.id} was lost: ${why}`),
    onSpooled: () => {},
    onWarning: ({ message }) => warn(`audit recorder: ${message}`),
    ...given(options),
  };
  for (const name of limits) {
    if (!(settings[name] > 0)) throw new RangeError(`${name} must be more than 0`);
  }
  if (settings.batchMax > batchEventsMax) {
    throw new RangeError(`batchMax must be at most ${batchEventsMax}`);
  }
  if (settings.durable && options.spoolFolder === undefined) {
    throw new TypeError('durable needs a spoolFolder');
  }
  return settings;
}

const quietMs = 10_000;

/** Without a callback nothing is silent, but a flood does not drown everything else either. */
function createWarning(): (message: string) => void {
  let unsaid = 0;
  let quietUntilMs = Number.NEGATIVE_INFINITY;
  return (message) => {
    if (performance.now() < quietUntilMs) {
      unsaid += 1;
      return;
    }
    quietUntilMs = performance.now() + quietMs;
    process.emitWarning(unsaid > 0 ? `${message} (and ${unsaid} more before)` : message);
    unsaid = 0;
  };
}

const warnRejected = createWarning();
const warnLost = createWarning();
const warn = createWarning();

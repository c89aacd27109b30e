import { batchEventsMax } from '@indelible/protocol';
import type { EventInput } from '../api-types.ts';
import type { AuditSink } from '../audit-sink.ts';
import type { BatchClient } from '../delivery/deliver-batch.ts';
import { given } from '../delivery/given.ts';
import { createWarning, warn, warnRejected } from '../delivery/hold.ts';
import { type InvalidEventError, requireSourceName } from '../delivery/ready-event.ts';
import type { EventCatalogue } from '../event/catalogue.ts';
import type { AnyAction, AnyResourceType } from '../event/words.ts';
import type { IndelibleError } from '../http/errors.ts';

export interface RecorderOptions<A extends string = AnyAction, R extends string = AnyResourceType> {
  client: BatchClient;
  /** The allowed words of events; without it, all words that the service accepts. */
  catalogue?: EventCatalogue<A, R>;
  /** The tenant of events that name none. */
  tenantId?: string;
  /** Additional key names whose values are masked before an event is sent or written. */
  maskedKeys?: readonly string[];
  /** Folder of events waiting on disk; processes may share it. Without it they wait in memory. */
  spoolFolder?: string;
  /**
   * Writes each event to the spool before `record` returns, so that `kill -9` loses none. Costs the
   * caller one write to the operating system. Needs `spoolFolder`.
   */
  durable?: boolean;
  /**
   * Numbers the events under this name, so that the service notices what is lost. Of letters,
   * digits, `.`, `_` and `-`. With `spoolFolder` the numbers continue after a restart.
   */
  source?: string;
  /** The most events in memory; default 10,000. */
  eventsMax?: number;
  /** Their most bytes; default 16 MiB. */
  bytesMax?: number;
  /** How long an event waits for others to share its call; default 200 ms. */
  flushMs?: number;
  /** Events per call, 1 to 1,000; default 500. */
  batchMax?: number;
  /** Wait for an answer before the sent events also go to the spool; default 2,000 ms. */
  spoolAfterMs?: number;
  /** The most bytes of the spool; default 1 GiB. */
  spoolBytesMax?: number;
  /** The time span of spooled events that a power failure may lose; default 1,000 ms. */
  fsyncMs?: number;
  /** Flushes and closes when the process ends by itself, by SIGTERM or by SIGINT. */
  closeOnExit?: boolean;
  /**
   * The service will never accept the event, it is invalid, a firewall refuses its content, or it
   * failed alone for a day. The spool's folder `set-aside` keeps the events of the last two kinds.
   * After a crash an event may be reported again.
   */
  onRejected?: (event: EventInput, error: IndelibleError | InvalidEventError) => void;
  /** An event with room neither in memory nor on disk: it exists nowhere else. */
  onLost?: (event: EventInput, why: LossReason) => void;
  /** Events start to go to the spool: the service is unavailable, slow or overloaded. */
  onSpooled?: () => void;
  /** Other problems for the operator: a refused key, a full disk, a damaged file. */
  onWarning?: (error: Error) => void;
}

export type LossReason = 'buffer_full' | 'closed';

export interface RecorderStats {
  /** In memory, including those being sent. */
  buffered: number;
  /** On disk, of this recorder and of those that it took over. */
  spooled: number;
  spooledBytes: number;
  /** Acknowledged by the service. */
  sent: number;
  rejected: number;
  lost: number;
}

export interface Recorder<A extends string = AnyAction, R extends string = AnyResourceType>
  extends AuditSink {
  /**
   * Takes the event and returns its id at once. Never throws, never waits: callbacks and `stats`
   * report what happens to the event.
   */
  record(event: EventInput<A, R>): string;
  /**
   * Resolves when the service has acknowledged every event recorded before. If the service is
   * unavailable, or refuses a tenant's events for now, it resolves when they are on disk (without a
   * spool: in memory) and one more attempt has failed.
   */
  flush(): Promise<RecorderStats>;
  /**
   * Flushes for at most `timeoutMs` (10 s), leaves the remaining events to the spool, and ends.
   * Events recorded afterwards still go to the spool.
   */
  close(options?: { timeoutMs?: number }): Promise<RecorderStats>;
  stats(): RecorderStats;
}

export type Settings = Required<
  Omit<RecorderOptions, 'catalogue' | 'tenantId' | 'maskedKeys' | 'spoolFolder' | 'source'>
>;

const limits = [
  ...(['eventsMax', 'bytesMax', 'flushMs', 'batchMax'] as const),
  ...(['spoolAfterMs', 'spoolBytesMax', 'fsyncMs'] as const),
];

/**
 * Throws RangeError for an invalid limit, TypeError for `durable` without a folder and for a source
 * that is no name.
 */
export function settingsOf(options: RecorderOptions): Settings {
  const settings: Settings = {
    durable: false,
    eventsMax: 10_000,
    bytesMax: 16 * 2 ** 20,
    flushMs: 200,
    batchMax: Math.min(500, batchEventsMax),
    spoolAfterMs: 2_000,
    spoolBytesMax: 2 ** 30,
    fsyncMs: 1_000,
    closeOnExit: false,
    onRejected: ({ id }, { message }) =>
      warnRejected(`the audit event ${id} was refused: ${message}`),
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
  requireSourceName(options.source);
  if (options.spoolFolder === '') {
    throw new TypeError('spoolFolder is empty: name a folder, or leave it out');
  }
  if (settings.durable && options.spoolFolder === undefined) {
    throw new TypeError('durable needs a spoolFolder');
  }
  return settings;
}

const warnLost = createWarning();

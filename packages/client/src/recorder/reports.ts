import type { EventInput } from '../api-types.ts';
import type { Outcome } from '../delivery/deliver-batch.ts';
import { tell } from '../delivery/hold.ts';
import { eventOf, type InvalidEventError } from '../delivery/ready-event.ts';
import { errorOf } from '../error-of.ts';
import { newEventId, type OutgoingEvent } from '../event/outgoing-event.ts';
import type { IndelibleError } from '../http/errors.ts';
import type { LossReason, Settings } from './options.ts';

type Callbacks = Pick<Settings, 'onRejected' | 'onLost' | 'onSpooled' | 'onWarning'>;

/** Counts outcomes and reports them to the host. */
export class Reports {
  readonly counts = { sent: 0, rejected: 0, lost: 0 };
  readonly #callbacks: Callbacks;

  constructor(callbacks: Callbacks) {
    this.#callbacks = callbacks;
  }

  settled(texts: readonly string[], outcomes: readonly Outcome[]): void {
    for (const [index, text] of texts.entries()) {
      const outcome = outcomes[index];
      if (outcome?.status === 'stored') this.counts.sent += 1;
      if (outcome?.status === 'rejected') this.rejected(eventOf(text), outcome.error);
    }
  }

  /** Reports an invalid or too large event, and returns its id. */
  refused(given: EventInput, error: InvalidEventError): string {
    const event = readable(given);
    this.rejected(event, error);
    return event.id;
  }

  rejected(event: Partial<EventInput>, error: IndelibleError | InvalidEventError): void {
    this.counts.rejected += 1;
    tell(() => this.#callbacks.onRejected(event as EventInput, error));
  }

  lost(text: string, why: LossReason): void {
    this.counts.lost += 1;
    tell(() => this.#callbacks.onLost(eventOf(text) as EventInput, why));
  }

  spooled(): void {
    tell(() => this.#callbacks.onSpooled());
  }

  warn(cause: unknown): void {
    tell(() => this.#callbacks.onWarning(errorOf(cause)));
  }
}

/**
 * The readable part of the value: plain JavaScript may pass anything, even an unreadable object.
 */
function readable(given: EventInput): OutgoingEvent {
  try {
    return { ...given, id: typeof given.id === 'string' ? given.id : newEventId() };
  } catch {
    return { id: newEventId() } as OutgoingEvent;
  }
}

/**
 * Prints to stderr, which Node writes before it exits; what `process.emitWarning` or the host's
 * logger is given then may be lost.
 */
export function lostAtExit(events: number, spoolFolder: string | undefined): void {
  if (events === 0) return;
  const remedy =
    spoolFolder === undefined
      ? 'Set spoolFolder to keep them on disk; or set closeOnExit, and do not end by process.exit.'
      : `The folder ${spoolFolder} could not be written: see onWarning.`;
  const held = `${events} audit event${events === 1 ? '' : 's'}`;
  console.error(`audit recorder: the process exited with ${held} in memory. ${remedy}`);
}

/** Rings once, that long after it was set. Keeps the process running only if it is told so. */
export class Alarm {
  readonly #ring: () => void;
  readonly #keepsRunning: boolean;
  #timer: NodeJS.Timeout | null = null;

  constructor(ring: () => void, keepsRunning = false) {
    this.#ring = ring;
    this.#keepsRunning = keepsRunning;
  }

  set(ms: number): void {
    this.clear();
    this.setOnce(ms);
  }

  /** Unless it is set already. */
  setOnce(ms: number): void {
    // Timers drop fractions and may ring up to a millisecond early by `performance.now`. The woken
    // code would find that it is too early, and nothing would wake it again.
    this.#timer ??= setTimeout(() => {
      this.#timer = null;
      this.#ring();
    }, Math.ceil(ms) + 1);
    if (!this.#keepsRunning) this.#timer.unref();
  }

  clear(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }
}

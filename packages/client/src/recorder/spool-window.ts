import { tenantOf } from '../delivery/ready-event.ts';
import type { SpoolFile } from './spool-file.ts';

/** An event that was read and is not delivered. */
interface SpooledEvent {
  text: string;
  tenant: string | null;
  spoolFile: SpoolFile;
}

/** When so many events wait, no further file is read: events behind them wait too. */
const eventsMax = 2_000;
const charactersMax = 8 * 2 ** 20;

/** The first undelivered events of a spool, in order. */
export class SpoolWindow {
  #events: SpooledEvent[] = [];
  #characters = 0;
  /** What the last `choose` returned. */
  #chosen: SpooledEvent[] = [];

  get isFull(): boolean {
    return this.#events.length >= eventsMax || this.#characters >= charactersMax;
  }

  push(spoolFile: SpoolFile, texts: readonly string[]): void {
    for (const text of texts) this.#events.push({ text, tenant: null, spoolFile });
    this.#count();
  }

  /** The first events of tenants that do not wait, at least one if any; `isAll`: none is left. */
  choose(countMax: number, bytesMax: number, waiting: ReadonlySet<string>) {
    const chosen: SpooledEvent[] = [];
    let bytes = 0;
    let isAll = true;
    for (const event of this.#events) {
      if (waiting.size > 0 && waiting.has(tenantOfEvent(event))) continue;
      bytes += Buffer.byteLength(event.text);
      isAll = chosen.length < countMax && (chosen.length === 0 || bytes <= bytesMax);
      if (!isAll) break;
      chosen.push(event);
    }
    this.#chosen = chosen;
    return { texts: chosen.map(({ text }) => text), isAll };
  }

  /** Takes which of the chosen events were delivered; returns the file of each. */
  settle(isDelivered: readonly boolean[]): SpoolFile[] {
    const delivered = new Set(this.#chosen.filter((_, index) => isDelivered[index]));
    this.#chosen = [];
    this.#events = this.#events.filter((event) => !delivered.has(event));
    this.#count();
    return [...delivered].map(({ spoolFile }) => spoolFile);
  }

  /** Forgets the events of a file. */
  drop(spoolFile: SpoolFile): void {
    this.#events = this.#events.filter((event) => event.spoolFile !== spoolFile);
    this.#count();
  }

  eventsOf(spoolFile: SpoolFile): number {
    return this.#events.filter((event) => event.spoolFile === spoolFile).length;
  }

  #count(): void {
    this.#characters = this.#events.reduce((sum, { text }) => sum + text.length, 0);
  }
}

function tenantOfEvent(event: SpooledEvent): string {
  event.tenant ??= tenantOf(event.text);
  return event.tenant;
}

/** An event in memory. */
export interface PendingEvent {
  tenantId: string;
  /** JSON, ready to be sent. */
  text: string;
  bytes: number;
  /** Numbers the events of a recorder. */
  number: number;
}

type Lines = Map<string, PendingEvent[]>;

/**
 * Events in memory, waiting or taken to be sent or written: one queue for each tenant, so that each
 * tenant's order is kept.
 */
export class PendingEvents {
  readonly #lines: Lines = new Map();
  readonly #taken = new Set<readonly PendingEvent[]>();
  #waiting = 0;
  #count = 0;
  #bytes = 0;

  get waiting(): number {
    return this.#waiting;
  }

  get count(): number {
    return this.#count;
  }

  get bytes(): number {
    return this.#bytes;
  }

  add(event: PendingEvent): void {
    pushTo(this.#lines, event);
    this.#waiting += 1;
    this.#count += 1;
    this.#bytes += event.bytes;
  }

  /**
   * Takes up to these numbers of events and bytes, at least one event if any. Not of tenants that
   * are `held` or have taken events: none may overtake those. A tenant with more events moves
   * behind the others, so that it does not starve them.
   */
  take(eventsMax: number, bytesMax: number, held: Iterable<string> = []): PendingEvent[] {
    const taken: PendingEvent[] = [];
    const room = { events: eventsMax, bytes: bytesMax };
    const busy = new Set([...held, ...[...this.#taken].flat().map(({ tenantId }) => tenantId)]);
    for (const [tenantId, line] of [...this.#lines]) {
      if (busy.has(tenantId)) continue;
      const count = fitting(line, room, taken.length === 0);
      if (count === 0) break;
      for (const event of line.splice(0, count)) taken.push(event);
      this.#lines.delete(tenantId);
      if (line.length > 0) this.#lines.set(tenantId, line);
    }
    this.#waiting -= taken.length;
    if (taken.length > 0) this.#taken.add(taken);
    return taken;
  }

  /**
   * Those of `again` wait again, before all other events of their tenants; the others of `taken`
   * are gone. False, without effect, if they are settled already.
   */
  settle(taken: readonly PendingEvent[], again: readonly PendingEvent[] = []): boolean {
    if (!this.#taken.delete(taken)) return false;
    const byTenant: Lines = new Map();
    for (const event of again) pushTo(byTenant, event);
    for (const [tenantId, line] of byTenant) {
      this.#lines.set(tenantId, [...line, ...(this.#lines.get(tenantId) ?? [])]);
    }
    this.#waiting += again.length;
    this.#count -= taken.length - again.length;
    this.#bytes -= bytesOf(taken) - bytesOf(again);
    return true;
  }

  isTaken(events: readonly PendingEvent[]): boolean {
    return this.#taken.has(events);
  }

  /** What was taken and is not settled. */
  taken(): (readonly PendingEvent[])[] {
    return [...this.#taken];
  }

  /** All taken events wait again. */
  takeBack(): void {
    for (const taken of this.#taken) this.settle(taken, taken);
  }

  /** The lowest number of an event; infinity if there is none. */
  firstNumber(): number {
    let first = Number.POSITIVE_INFINITY;
    for (const [event] of this.#lines.values()) first = Math.min(first, event?.number ?? first);
    for (const { number } of [...this.#taken].flat()) first = Math.min(first, number);
    return first;
  }
}

function pushTo(lines: Lines, event: PendingEvent): void {
  const line = lines.get(event.tenantId);
  if (line === undefined) lines.set(event.tenantId, [event]);
  else line.push(event);
}

const bytesOf = (events: readonly PendingEvent[]) =>
  events.reduce((sum, { bytes }) => sum + bytes, 0);

/** How many first events of a queue fit; subtracts their room. */
function fitting(
  line: readonly PendingEvent[],
  room: { events: number; bytes: number },
  isFirst: boolean,
): number {
  let count = 0;
  for (const { bytes } of line) {
    const mustFit = isFirst && count === 0;
    if (!mustFit && (room.events <= 0 || bytes > room.bytes)) break;
    room.events -= 1;
    room.bytes -= bytes;
    count += 1;
  }
  return count;
}

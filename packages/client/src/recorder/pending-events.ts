/** An event in memory. */
export interface PendingEvent {
  tenantId: string;
  /** JSON, ready to be sent. */
  text: string;
  bytes: number;
  /** Numbers the events of a recorder. */
  number: number;
}

export const noTenants: ReadonlySet<string> = new Set();

/** Events in memory, one queue for each tenant, so that each tenant's order is kept. */
export class PendingEvents {
  readonly #lines = new Map<string, PendingEvent[]>();
  #count = 0;
  #bytes = 0;

  get count(): number {
    return this.#count;
  }

  get bytes(): number {
    return this.#bytes;
  }

  add(event: PendingEvent): void {
    const line = this.#lines.get(event.tenantId);
    if (line === undefined) this.#lines.set(event.tenantId, [event]);
    else line.push(event);
    this.#count += 1;
    this.#bytes += event.bytes;
  }

  /**
   * Takes up to these numbers of events and bytes, at least one event if any, of tenants that are
   * not `busy`. A tenant with more events moves behind the others, so that it does not starve them.
   */
  take(eventsMax: number, bytesMax: number, busy: ReadonlySet<string>): PendingEvent[] {
    const taken: PendingEvent[] = [];
    const room = { events: eventsMax, bytes: bytesMax };
    for (const [tenantId, line] of [...this.#lines]) {
      if (busy.has(tenantId)) continue;
      const count = fitting(line, room, taken.length === 0);
      if (count === 0) break;
      for (const event of line.splice(0, count)) taken.push(event);
      this.#lines.delete(tenantId);
      if (line.length > 0) this.#lines.set(tenantId, line);
    }
    for (const { bytes } of taken) this.#bytes -= bytes;
    this.#count -= taken.length;
    return taken;
  }

  /** Puts taken events back before all other events of their tenants. */
  putBack(events: readonly PendingEvent[]): void {
    const byTenant = new Map<string, PendingEvent[]>();
    for (const event of events) {
      const line = byTenant.get(event.tenantId);
      if (line === undefined) byTenant.set(event.tenantId, [event]);
      else line.push(event);
      this.#bytes += event.bytes;
    }
    for (const [tenantId, line] of byTenant) {
      this.#lines.set(tenantId, [...line, ...(this.#lines.get(tenantId) ?? [])]);
    }
    this.#count += events.length;
  }

  /** The lowest waiting number; infinity if there is none. */
  firstNumber(): number {
    let first = Number.POSITIVE_INFINITY;
    for (const [event] of this.#lines.values()) first = Math.min(first, event?.number ?? first);
    return first;
  }
}

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

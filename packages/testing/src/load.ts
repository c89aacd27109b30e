import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { eventIdFromUuid, eventUuid, uuidFromEventId } from '@indelible/protocol';
import type pg from 'pg';
import { expect } from 'vitest';
import { expectLogIntact } from './intact.ts';
import type { HttpAnswer, RunningService } from './running-service.ts';
import { nthEvent } from './service.ts';

/** An event as its producer knows it; `name` identifies it even without a sent id. */
export interface Sent {
  tenantId: string;
  name: string;
  number: number;
  /** The sent id, or the one in the answer. */
  id: string | null;
  /** The acknowledged sequence; null: never acknowledged, so it may be stored or not. */
  sequence: number | null;
}

/** What producers know of everything that they sent, over all services and crashes. */
export class Ledger {
  readonly sent: Sent[] = [];
  readonly #name = randomBytes(4).toString('hex');
  #count = 0;
  /** Status of each answer; 0 = none came. */
  readonly statuses = new Map<number, number>();
  readonly problems: string[] = [];

  get acknowledged(): Sent[] {
    return this.sent.filter(({ sequence }) => sequence !== null);
  }

  /** Leaves out what is acknowledged by now, but for these. */
  forget(kept: ReadonlySet<Sent>): void {
    const stays = this.sent.filter((event) => event.sequence === null || kept.has(event));
    this.sent.splice(0, this.sent.length, ...stays);
  }

  add(tenantId: string, withId: boolean): Sent {
    const id = withId ? eventIdFromUuid(eventUuid(Date.now(), randomBytes(10))) : null;
    const number = this.#count++;
    const event = { tenantId, name: `${this.#name} ${number}`, number, id, sequence: null };
    this.sent.push(event);
    return event;
  }
}

const bodyOf = ({ tenantId, name, number, id }: Sent) =>
  nthEvent(number, {
    tenantId,
    resource: { type: 'queue', id: '0b54a1de-6e0f-4c66-a24c-2c4f6f2c7a11', name },
    ...(id === null ? {} : { id }),
  });

/** Sends one event, or several as a batch, and stores the answers. */
export async function send(
  service: RunningService,
  ledger: Ledger,
  events: Sent[],
): Promise<number> {
  const [single] = events;
  const call =
    events.length === 1 && single
      ? { path: '/api/audit-logs', body: bodyOf(single) }
      : { path: '/api/audit-logs/batch', body: { events: events.map(bodyOf) } };
  const answer = await service.call({ method: 'POST', ...call }).catch(() => null);
  const status = answer?.status ?? 0;
  ledger.statuses.set(status, (ledger.statuses.get(status) ?? 0) + 1);
  if (answer) enter(ledger, events, answer);
  return status;
}

function enter(ledger: Ledger, events: Sent[], { status, headers, text, body }: HttpAnswer): void {
  if (status === 503) {
    if (!headers.get('retry-after')) ledger.problems.push('503 without Retry-After');
    return;
  }
  if (status >= 300) {
    ledger.problems.push(text);
    return;
  }
  const results = status === 200 && 'results' in body ? body.results : [body];
  for (const [index, event] of events.entries()) {
    const { id, sequence, status: outcome, error } = results[index];
    if (typeof sequence === 'number') Object.assign(event, { id, sequence });
    else if (error?.code !== 'unavailable')
      ledger.problems.push(`${status} ${outcome} ${error?.code}`);
  }
}

/** Producers that post continuously until they are stopped or get no answer. */
export class Load {
  #going = true;
  readonly #producers: Promise<void>[];

  /** Each producer alternates an event with an id, one without, and a batch. */
  constructor(service: RunningService, ledger: Ledger, tenantIds: string[], producers: number) {
    this.#producers = Array.from({ length: producers }, async (_, n) => {
      for (let round = n; this.#going; round++) {
        const tenantId = tenantIds[round % tenantIds.length] ?? '';
        const count = round % 5 === 4 ? 10 : 1;
        const events = Array.from({ length: count }, () => ledger.add(tenantId, round % 2 === 0));
        const status = await send(service, ledger, events);
        if (status === 0) return;
        // A short back-off; otherwise refusals would dominate.
        if (status === 503) await delay(100);
      }
    });
  }

  async stop(): Promise<void> {
    this.#going = false;
    await Promise.all(this.#producers);
  }
}

/** Sends everything with an id again that was never acknowledged. */
export async function sendAgain(service: RunningService, ledger: Ledger): Promise<number[]> {
  const open = ledger.sent.filter(({ id, sequence }) => id !== null && sequence === null);
  return Promise.all(open.map((event) => send(service, ledger, [event])));
}

/**
 * Every acknowledged event is stored once, under its id, at its sequence; no other is stored twice;
 * the logs have no gaps and prove what is stored.
 */
export async function expectNothingLost(owner: pg.Client, ledger: Ledger): Promise<void> {
  expect(ledger.problems).toEqual([]);
  const { rows } = await owner.query<{ name: string }>(
    `SELECT tenant_id AS tenant, id AS uuid, resource_name AS name, sequence::int AS at,
        correlation_id AS correlation
      FROM audit_events WHERE recorded_by_kind = 'api_key'`,
  );
  const stored = new Map(rows.map((row) => [row.name, row]));
  expect(stored.size, 'events stored twice').toBe(rows.length);
  for (const { tenantId, name, number, id, sequence } of ledger.acknowledged) {
    expect(stored.get(name)).toEqual({
      tenant: tenantId,
      uuid: uuidFromEventId(id ?? ''),
      name,
      at: sequence,
      correlation: nthEvent(number).correlationId ?? null,
    });
  }
  const tenantIds = new Set(ledger.sent.map(({ tenantId }) => tenantId));
  for (const tenantId of tenantIds) await expectLogIntact({ owner }, tenantId);
}

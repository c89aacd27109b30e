import { setTimeout as delay } from 'node:timers/promises';
import {
  type BatchResult,
  backoffMs,
  type IndelibleClient,
  UnreachableError,
} from '@indelible/client';
import type { Plan } from '@indelible/protocol';
import type { LineRefusal, SourceEvent } from './source-line.ts';
import { countIn, type Tally } from './tally.ts';

export interface SendingDeps {
  client: Pick<IndelibleClient, 'recordBatchTexts' | 'tenants'>;
  /** The plan for unknown tenants; null: their events are rejected. */
  createTenants: Plan | null;
  tally: Tally;
  reject(event: SourceEvent, refusal: LineRefusal): void;
  signal: AbortSignal;
}

const attemptsMax = 10;

/**
 * Sends a batch until each event is stored or rejected. Creates unknown tenants once and sends
 * their events again; also sends again what the service could not take, which is safe because every
 * event has its id. Throws the client's errors, and UnreachableError after ten attempts.
 */
export function createSending(deps: SendingDeps): (batch: SourceEvent[]) => Promise<void> {
  const created = new Set<string>();
  return async (batch) => {
    let left = batch;
    for (let attempt = 1; ; attempt += 1) {
      const results = await deps.client.recordBatchTexts(left.map(({ text }) => text));
      const { unknown, unavailable } = settle(left, results, created, deps);
      if (unknown.length + unavailable.length === 0) return;
      await createTenants(unknown, created, deps);
      if (unavailable.length > 0) await pause(attempt, deps.signal);
      const again = new Set([...unknown, ...unavailable]);
      left = left.filter((event) => again.has(event));
    }
  };
}

interface Unsettled {
  /** Of tenants that can be created. */
  unknown: SourceEvent[];
  unavailable: SourceEvent[];
}

function settle(
  events: readonly SourceEvent[],
  results: readonly BatchResult[],
  created: ReadonlySet<string>,
  deps: SendingDeps,
): Unsettled {
  const unsettled: Unsettled = { unknown: [], unavailable: [] };
  for (const [index, event] of events.entries()) {
    const result = results[index];
    if (result === undefined) throw new Error('the service returned no result for an event');
    const code = result.error?.code;
    const creatable = deps.createTenants !== null && !created.has(event.tenantId);
    if (code === 'unavailable') unsettled.unavailable.push(event);
    else if (code === 'unknown_tenant' && creatable) unsettled.unknown.push(event);
    else settleOne(event, result, deps);
  }
  return unsettled;
}

function settleOne(event: SourceEvent, result: BatchResult, { tally, reject }: SendingDeps): void {
  for (const warning of result.warnings ?? []) countIn(tally.warnings, warning);
  if (result.status === 'created') tally.created += 1;
  else if (result.status === 'duplicate') tally.duplicates += 1;
  else {
    const { code = 'internal_error', detail = '', errors } = result.error ?? {};
    reject(event, { code, reason: detail, ...(errors ? { errors } : {}) });
  }
}

async function createTenants(
  unknown: readonly SourceEvent[],
  created: Set<string>,
  { client, createTenants: plan, tally }: SendingDeps,
): Promise<void> {
  if (plan === null) return;
  for (const tenantId of new Set(unknown.map((event) => event.tenantId))) {
    await client.tenants.put(tenantId, { name: `Imported ${tenantId.slice(0, 8)}`, plan });
    created.add(tenantId);
    tally.tenantsCreated += 1;
  }
}

async function pause(attempt: number, signal: AbortSignal): Promise<void> {
  if (attempt >= attemptsMax) {
    throw new UnreachableError('the service answers, but cannot record now');
  }
  await delay(backoffMs(attempt, Math.random(), 0), undefined, { signal });
}

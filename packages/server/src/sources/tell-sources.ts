import { externalUuid, formatTimestamp } from '@indelible/protocol';
import { lockHeads } from '../log/store.ts';
import { actOf, byService, type OwnEvent } from '../own-event.ts';
import type { Parts } from '../parts.ts';
import { writeInBackground } from '../postgres/db.ts';
import {
  type Gap,
  type Silence,
  takeSilentSources,
  takeUntoldGaps,
  tenantsToTell,
} from './store.ts';

export interface TellDeps extends Pick<Parts, 'db' | 'now' | 'recordOwn'> {
  silentMs: number;
}

/** Retries and events that overtake each other fill most gaps within seconds. */
const gapToldAfterMs = 15 * 60_000;

/**
 * Records new gaps and silent sources in their tenants' logs. Mark and record are one transaction,
 * so each is recorded once, whatever crashes and however many processes run this.
 */
export async function tellSources(deps: TellDeps): Promise<boolean> {
  const { db, now, silentMs } = deps;
  const nowMs = now();
  const tenants = await tenantsToTell(db.background, nowMs - gapToldAfterMs, nowMs - silentMs);
  for (const tenantId of tenants) await tellTenant(deps, tenantId, nowMs);
  return true;
}

function tellTenant(deps: TellDeps, tenantId: string, nowMs: number): Promise<void> {
  const { db, recordOwn, silentMs } = deps;
  return writeInBackground(db, async (tx) => {
    // First, as flushes do: the other order would deadlock with one. Unless a flush holds it, which
    // would delay the reports of other tenants: the next run tells it.
    if ((await lockHeads(tx, [tenantId], false)).length === 0) return;
    const gaps = await takeUntoldGaps(tx, tenantId, nowMs - gapToldAfterMs, nowMs);
    const silences = await takeSilentSources(tx, tenantId, nowMs - silentMs, nowMs);
    for (const [sourceId, ofSource] of Map.groupBy(gaps, ({ sourceId }) => sourceId)) {
      await recordOwn(tx, tenantId, gapEvent(tenantId, sourceId, ofSource));
    }
    for (const silence of silences) {
      if (!silence.isReplaced) await recordOwn(tx, tenantId, silenceEvent(tenantId, silence));
    }
  });
}

const sourceOf = (tenantId: string, id: string): OwnEvent['resource'] => ({
  type: 'source',
  id: externalUuid(tenantId, 'source', id),
  name: id,
});

function gapEvent(tenantId: string, sourceId: string, gaps: readonly Gap[]): OwnEvent {
  const after = { gaps: gaps.map(shownGap) };
  return actOf(byService, 'report_gap', sourceOf(tenantId, sourceId), { after });
}

function silenceEvent(tenantId: string, silence: Silence): OwnEvent {
  const { sourceId, lastSequence, lastReceivedMs } = silence;
  const after = { lastSequence, lastReceivedAt: formatTimestamp(lastReceivedMs) };
  return actOf(byService, 'report_silence', sourceOf(tenantId, sourceId), { after });
}

/** A gap as events and answers show it. */
export const shownGap = ({ from, to, afterMs, noticedMs }: Gap) => ({
  ...{ from, to },
  afterReceivedAt: formatTimestamp(afterMs),
  noticedAt: formatTimestamp(noticedMs),
});

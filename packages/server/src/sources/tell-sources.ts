import { externalUuid, formatTimestamp, nilUuid } from '@indelible/protocol';
import { endedKeyIds } from '../api-keys/store.ts';
import { lockHeads } from '../log/store.ts';
import { actOf, byService, type OwnEvent } from '../own-event.ts';
import type { Parts } from '../parts.ts';
import { writeInBackground } from '../postgres/db.ts';
import {
  type Gap,
  type Silence,
  type SourceGap,
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
    const bySource = Map.groupBy(gaps, ({ keyId, sourceId }) => `${keyId} ${sourceId}`);
    const keyIds = silences.map(({ keyId }) => keyId);
    const ended = await endedKeyIds(tx, keyIds, nowMs); // another key sends in their place
    const events = [
      ...[...bySource.values()].map((ofSource) => gapEvent(tenantId, ofSource)),
      ...silences
        .filter(({ isReplaced, keyId }) => !isReplaced && !ended.has(keyId))
        .map((silence) => silenceEvent(tenantId, silence)),
    ];
    if (events.length > 0) await recordOwn(tx, tenantId, ...events);
  });
}

const sourceOf = (tenantId: string, id: string): OwnEvent['resource'] => ({
  type: 'source',
  id: externalUuid(tenantId, 'source', id),
  name: id,
});

function gapEvent(tenantId: string, gaps: readonly SourceGap[]): OwnEvent {
  const { keyId = nilUuid, sourceId = '' } = gaps[0] ?? {};
  const after = { keyId, gaps: gaps.map(shownGap) };
  return actOf(byService, 'report_gap', sourceOf(tenantId, sourceId), { after });
}

function silenceEvent(tenantId: string, silence: Silence): OwnEvent {
  const { sourceId, keyId, lastSequence, lastReceivedMs } = silence;
  const after = { keyId, lastSequence, lastReceivedAt: formatTimestamp(lastReceivedMs) };
  return actOf(byService, 'report_silence', sourceOf(tenantId, sourceId), { after });
}

/** A gap as events and answers show it. */
export const shownGap = ({ from, to, afterMs, noticedMs }: Gap) => ({
  from,
  to,
  afterReceivedAt: formatTimestamp(afterMs),
  noticedAt: formatTimestamp(noticedMs),
});

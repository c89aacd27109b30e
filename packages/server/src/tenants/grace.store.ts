import { plans } from '@indelible/protocol';
import type { WriterTx } from '../postgres/index.ts';
import type { TenantSettings } from './tenant-settings.ts';

/** How long what a smaller plan, or the end of a hold, has hidden is still kept. */
const graceDays = 30;

const dayMs = 86_400_000;

/** Until when what a change at this moment hides is kept. */
export function graceEnd(nowMs: number): number {
  return nowMs + graceDays * dayMs;
}

/**
 * Writes down until when the events are kept that this change hides at once. A second change adds
 * its own grace, and none ends earlier than it was granted.
 */
export async function grantGrace(
  tx: WriterTx,
  tenantId: string,
  before: TenantSettings,
  after: TenantSettings,
  nowMs: number,
): Promise<void> {
  const until = new Date(graceEnd(nowMs));
  const isSmaller = plans.indexOf(after.plan) < plans.indexOf(before.plan);
  const isLifted = before.legalHold && !after.legalHold;
  if (!isSmaller && !isLifted) return;
  await tx.query({
    name: 'grant-grace',
    text: `UPDATE tenants SET pro_until = greatest(pro_until, $2),
        enterprise_until = greatest(enterprise_until, $3), held_until = greatest(held_until, $4)
      WHERE id = $1`,
    values: [
      tenantId,
      isSmaller && before.plan === 'Pro' ? until : null,
      isSmaller && before.plan === 'Enterprise' ? until : null,
      isLifted ? until : null,
    ],
  });
}

import { heldClass, type Plans } from '@indelible/protocol';
import { execute, type WriterTx } from '../postgres/index.ts';
import { hasShorterPlan, type TenantSettings } from './tenant-settings.ts';

/** How long events are kept that a smaller plan or a lifted hold has hidden. */
const graceDays = 30;

const dayMs = 86_400_000;

/** The end of the grace for a change now. */
export function graceEnd(nowMs: number): number {
  return nowMs + graceDays * dayMs;
}

/**
 * Stores how long the events are kept that this change hides. A second change adds its own grace;
 * none is shortened.
 */
export async function grantGrace(
  tx: WriterTx,
  plans: Plans,
  tenantId: string,
  before: TenantSettings,
  after: TenantSettings,
  nowMs: number,
): Promise<void> {
  const left = plans.named(before.plan)?.class;
  const classes = hasShorterPlan(plans, before, after) && left !== undefined ? [left] : [];
  if (before.legalHold && !after.legalHold) classes.push(heldClass);
  if (classes.length === 0) return;
  await execute(tx)`
    INSERT INTO grace (tenant_id, class, until) SELECT ${tenantId}, class,
      ${new Date(graceEnd(nowMs))} FROM unnest(${classes}::smallint[]) class
    ON CONFLICT (tenant_id, class) DO UPDATE SET until = greatest(grace.until, excluded.until)`;
}

import { formatTimestamp } from '@indelible/protocol';
import { AppError } from '../http/problem.ts';
import { changedBy, type Who } from '../own-event.ts';
import type { Parts } from '../parts.ts';
import type { WriterTx } from '../postgres/db.ts';
import { stateOf } from './put-tenant.store.ts';
import { closeTenantLog, hasLiveEvents, lockTenant, type TenantRow } from './store.ts';

/**
 * Closes the log of a tenant that only a failed import has filled, and records that in it. Events
 * and log stay as they are. Throws `not_found`, `reason_required`, and `conflict` if the tenant is
 * closed already, is under legal hold, or has an event that was recorded when it happened.
 */
export async function abandonTenant(
  tx: WriterTx,
  { now, recordOwn }: Pick<Parts, 'now' | 'recordOwn'>,
  id: string,
  who: Who,
): Promise<TenantRow> {
  const tenant = await lockTenant(tx, id);
  if (tenant === null) throw new AppError('not_found');
  if (who.reason === null)
    throw new AppError('reason_required', 'abandoning a tenant needs the header X-Access-Reason');
  if (tenant.closedAtMs) throw new AppError('conflict', 'the log of the tenant is closed already');
  if (tenant.legalHold) throw new AppError('conflict', 'the tenant is under legal hold');
  const closedAtMs = now();
  const before = stateOf(tenant);
  const after = { ...before, closedAt: formatTimestamp(closedAtMs) };
  const resource = { type: 'tenant', id, name: tenant.name };
  // Locks the log's head: no event comes between the check and the end.
  await recordOwn(tx, id, changedBy(who, resource, before, after));
  if (await hasLiveEvents(tx, id)) throw new AppError('conflict', isInUse);
  await closeTenantLog(tx, id, closedAtMs);
  return { ...tenant, closedAtMs };
}

const isInUse =
  'an event of the tenant was recorded within five minutes of its timestamp, so not by an import: ' +
  'to close this log, offboard the tenant (indelible erase --tenant)';

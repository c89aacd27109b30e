import { uuidFromEventId, uuidTimeMs } from '@indelible/protocol';
import { getEvent, visibility } from '../events/store.ts';
import { AppError } from '../http/problem.ts';
import { lockHeads } from '../log/store.ts';
import type { Who } from '../own-event.ts';
import { readTenant, write } from '../postgres/db.ts';
import { acknowledgedEvent } from './alert-event.ts';
import { type ChangeDeps, noRule } from './change-rule.ts';
import { allRules } from './rule.ts';
import { acknowledgedAt, listRules, type RuleKey } from './store.ts';

/**
 * Records who acknowledges the alert, once. Returns when it was acknowledged first. Throws
 * `not_found` for another rule's alert, and for one that the plan does not show any more.
 */
export async function acknowledge(
  { db, now, recordOwn }: ChangeDeps,
  { tenantId, id }: RuleKey,
  alertId: string,
  note: string | null,
  who: Who,
): Promise<number> {
  const uuid = uuidFromEventId(alertId);
  const { rule, isAlert } = await readTenant(db, tenantId, async (tx) => {
    const visible = await visibility(tx, now());
    const event = uuid && visible ? await getEvent(tx, uuid, visible) : null;
    const isAlert =
      event?.recordedByKind === 'service' && event.action === 'raise' && event.resourceId === id;
    const rules = allRules(tenantId, await listRules(tx));
    return { isAlert, rule: rules.find((each) => each.id === id) };
  });
  if (!rule) throw noRule();
  if (!isAlert || uuid === null) throw new AppError('not_found', 'there is no such alert');
  return write(db, async (tx) => {
    // Two people who acknowledge at the same moment leave one record.
    await lockHeads(tx, [tenantId], true);
    const before = await acknowledgedAt(tx, tenantId, alertId);
    if (before !== null) return uuidTimeMs(before);
    await recordOwn(tx, tenantId, acknowledgedEvent(who, rule, alertId, note));
    const recorded = await acknowledgedAt(tx, tenantId, alertId);
    return recorded === null ? now() : uuidTimeMs(recorded);
  });
}

import { type EventFilter, uuidTimeMs } from '@indelible/protocol';
import { inOrder, Params, portions, prepared, type Visibility } from '../events/index.ts';
import type { TenantTx } from '../postgres/index.ts';
import type { Candidate } from './evaluate.ts';

/** As `isAboutAlerts`. */
const notAboutAlerts = `NOT (recorded_by_kind = 'service' AND (resource_type = 'alert'
  OR (action = 'send' AND resource_type = 'webhook')))`;

/** The next matching events in the order of their times; `after` is the id of the last one. */
export async function candidatesAfter(
  tx: TenantTx,
  filter: EventFilter,
  visible: Visibility,
  after: string,
  max: number,
): Promise<Candidate[]> {
  const found: Candidate[] = [];
  for await (const part of portions(tx, filter, visible, { from: after, ascending: true })) {
    const params = new Params();
    const conditions = [`id > ${params.add(after)}::uuid`, notAboutAlerts];
    const limit = params.add(max - found.length);
    const source = inOrder('id', tx, part, visible, conditions, limit, params);
    const { rows } = await tx.query<Omit<Candidate, 'atMs'>>(
      prepared(
        `SELECT id AS uuid, sequence, actor_id AS "actorId", actor_ip AS "actorIp",
           resource_type AS "resourceType", resource_id AS "resourceId"
         FROM (${source}) e ORDER BY id LIMIT ${limit}`,
        params,
      ),
    );
    found.push(...rows.map((row) => ({ ...row, atMs: uuidTimeMs(row.uuid) })));
    if (found.length === max) break;
  }
  return found;
}

import { type EventFilter, uuidTimeMs } from '@indelible/protocol';
import { inOrder } from '../events/branches.store.ts';
import { Params, type Visibility } from '../events/filter-sql.store.ts';
import { portions } from '../events/portions.ts';
import { prepared } from '../events/prepared-statement.ts';
import type { TenantTx } from '../postgres/db.ts';
import type { Candidate } from './evaluate.ts';

/** As `isAboutAlerts`. */
const notAboutAlerts = `NOT (recorded_by_kind = 'service' AND (resource_type = 'alert'
  OR (action = 'send' AND resource_type = 'webhook')))`;

const columns = ['id', 'sequence', 'actor_id', 'actor_ip', 'resource_type', 'resource_id'] as const;

/** All values of each column; no value has a line break. */
type Page = Record<(typeof columns)[number], string | null>;
const joined = columns.map((name) => `string_agg(coalesce(${name}::text, ''), E'\\n') AS ${name}`);

/**
 * The next matching events in the order of their times; `after` is the id of the last one. A page
 * is one row of six long texts: a row for each event takes twice the processor time.
 */
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
    const { rows } = await tx.query<Page>(
      prepared(
        `SELECT ${joined.join()} FROM (SELECT * FROM (${source}) e ORDER BY id LIMIT ${limit}) page`,
        params,
      ),
    );
    for (const page of rows) for (const each of candidatesIn(page)) found.push(each);
    if (found.length === max) break;
  }
  return found;
}

function candidatesIn(page: Page): Candidate[] {
  if (page.id === null) return [];
  const valuesOf = (name: (typeof columns)[number]) => (page[name] ?? '').split('\n');
  const [sequences, actors, ips] = [
    valuesOf('sequence'),
    valuesOf('actor_id'),
    valuesOf('actor_ip'),
  ];
  const [types, resources] = [valuesOf('resource_type'), valuesOf('resource_id')];
  return valuesOf('id').map((uuid, n) => ({
    uuid,
    sequence: Number(sequences[n]),
    atMs: uuidTimeMs(uuid),
    actorId: actors[n] ?? '',
    actorIp: ips[n] || null,
    resourceType: types[n] ?? '',
    resourceId: resources[n] ?? '',
  }));
}

import { eventIdFromUuid, segmentNames, uuidTimeMs } from '@indelible/protocol';
import type { ArchivedRow } from './archived-row.ts';

/* The tables of a segment; docs/archive.md says what each column holds. */

type Value = string | number | boolean | Uint8Array | null;

export interface Column {
  name: string;
  /**
   * Times are UTC, in microseconds. Ids are text: what every engine reads, at a byte or two more.
   */
  type: 'BIGINT' | 'VARCHAR' | 'BOOLEAN' | 'TIMESTAMP' | 'BLOB';
  /** Times as microseconds since 1970. */
  of: (row: ArchivedRow) => Value;
}

const eventColumn = (
  name: string,
  type: Column['type'],
  of: (event: NonNullable<ArchivedRow['body']>['event']) => Value,
): Column => ({ name, type, of: ({ body }) => body && of(body.event) });

const segmentColumns = (segment: (typeof segmentNames)[number]): Column[] => {
  const index = segmentNames.indexOf(segment);
  return [
    { name: `salt_${segment}`, type: 'BLOB', of: ({ body }) => body?.salts[index] ?? null },
    { name: `hash_${segment}`, type: 'BLOB', of: ({ body }) => body?.hashes[index] ?? null },
  ];
};

const sequence: Column = { name: 'sequence', type: 'BIGINT', of: (row) => row.sequence };

/** Everything but what names people. */
export const eventColumns: readonly Column[] = [
  sequence,
  { name: 'id', type: 'VARCHAR', of: (row) => eventIdFromUuid(row.uuid) },
  { name: 'timestamp', type: 'TIMESTAMP', of: (row) => uuidTimeMs(row.uuid) * 1_000 },
  { name: 'received_at', type: 'TIMESTAMP', of: (row) => row.receivedAtUs },
  eventColumn('actor_id', 'VARCHAR', (event) => event.actorId),
  eventColumn('actor_role', 'VARCHAR', (event) => event.actorRole),
  eventColumn('action', 'VARCHAR', (event) => event.action),
  eventColumn('resource_type', 'VARCHAR', (event) => event.resourceType),
  eventColumn('resource_id', 'VARCHAR', (event) => event.resourceId),
  eventColumn('category', 'VARCHAR', (event) => event.category),
  eventColumn('cross_tenant', 'BOOLEAN', (event) => event.crossTenant),
  eventColumn('reason', 'VARCHAR', (event) => event.reason),
  eventColumn('recorded_by_kind', 'VARCHAR', (event) => event.recordedByKind),
  eventColumn('recorded_by_id', 'VARCHAR', (event) => event.recordedById),
  eventColumn('diff', 'VARCHAR', (event) => event.diff),
  eventColumn('before', 'VARCHAR', (event) => event.before),
  eventColumn('after', 'VARCHAR', (event) => event.after),
  ...segmentColumns('change'),
  ...segmentColumns('event').slice(0, 1), // never erased: without it there is nothing to speak of
  ...segmentColumns('state'),
  { name: 'commitment', type: 'BLOB', of: (row) => row.commitment },
];

/** What names people, in a file of its own, so that erasure need not touch the other one. */
export const identityColumns: readonly Column[] = [
  sequence,
  eventColumn('actor_email', 'VARCHAR', (event) => event.actorEmail),
  eventColumn('actor_ip', 'VARCHAR', (event) => event.actorIp),
  eventColumn('actor_user_agent', 'VARCHAR', (event) => event.actorUserAgent),
  eventColumn('resource_name', 'VARCHAR', (event) => event.resourceName),
  ...segmentColumns('identity'),
];

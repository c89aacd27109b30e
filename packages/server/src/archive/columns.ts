import {
  type CommittedEvent,
  eventIdFromUuid,
  type StoredField,
  segmentNames,
  storedFields,
  uuidTimeMs,
} from '@indelible/protocol';
import { sha } from '../crypto/sha256.ts';
import { type ArchivedRow, keptEventSalt } from './archived-row.ts';

/* The tables of an archive part; docs/archive.md describes the columns. */

export type Value = string | number | boolean | Uint8Array | null;

export interface Column {
  name: string;
  /**
   * Times are UTC, in microseconds. Ids are text, which every engine reads, at 1 or 2 bytes more.
   */
  type: 'BIGINT' | 'VARCHAR' | 'BOOLEAN' | 'TIMESTAMP' | 'BLOB';
  /** Times as microseconds since 1970. */
  of: (row: ArchivedRow) => Value;
  /** Its values mostly rise with the rows, so readers are told the range of each row group. */
  isRising?: true;
}

const committed = storedFields.filter(({ segment, kind }) => segment && kind !== 'eventId');

const columnOf = ({ key, column, kind }: StoredField): Column => ({
  name: column,
  type: kind === 'boolean' ? 'BOOLEAN' : 'VARCHAR',
  of: ({ body }) => body?.event[key as keyof CommittedEvent] ?? null,
});

/** The manifest names the tenant; JSON texts come last, and what version 2 has added after all. */
const ofEvent = committed.filter(
  ({ key, segment }) => key !== 'tenantId' && segment !== 'identity' && segment !== 'context',
);
const ofContext = committed.filter(({ key }) => key === 'context');
/** What the files lack that were written before entries of version 2. */
export const isLaterColumn = (name: string): boolean =>
  name === 'entry_version' || /(^|_)context(_|$)/.test(name);
const isJson = ({ kind }: StoredField) => kind === 'diff' || kind === 'state';
// In the first archives the category came before these columns; the order is part of a file.
const isBehindCategory = ({ key, kind }: StoredField) =>
  kind === 'boolean' || key === 'reason' || key.startsWith('recordedBy');
const plain = ofEvent.filter((field) => !isJson(field));

const segmentColumns = (segment: (typeof segmentNames)[number]): Column[] => {
  const index = segmentNames.indexOf(segment);
  return [
    { name: `salt_${segment}`, type: 'BLOB', of: ({ body }) => body?.salts[index] ?? null },
    { name: `hash_${segment}`, type: 'BLOB', of: ({ body }) => body?.hashes[index] ?? null },
  ];
};

const isRising = true;

const sequence: Column = {
  name: 'sequence',
  type: 'BIGINT',
  of: (row) => row.sequence,
  isRising,
};

/** Everything that does not name people. */
export const eventColumns: readonly Column[] = [
  sequence,
  { name: 'id', type: 'VARCHAR', of: (row) => eventIdFromUuid(row.uuid), isRising },
  { name: 'timestamp', type: 'TIMESTAMP', of: (row) => uuidTimeMs(row.uuid) * 1_000, isRising },
  { name: 'received_at', type: 'TIMESTAMP', of: (row) => row.receivedAtUs, isRising },
  ...plain.filter((field) => !isBehindCategory(field)).map(columnOf),
  ...plain.filter(isBehindCategory).map(columnOf),
  ...ofEvent.filter(isJson).map(columnOf),
  ...segmentColumns('change'),
  { name: 'salt_event', type: 'BLOB', of: ({ body }) => body && keptEventSalt(sha, body) },
  ...segmentColumns('state'),
  { name: 'commitment', type: 'BLOB', of: (row) => row.commitment },
  { name: 'entry_version', type: 'BIGINT', of: (row) => row.version },
  ...ofContext.map(columnOf),
  ...segmentColumns('context'),
];

/** What names people, in a separate file, so that erasure does not touch the other one. */
export const identityColumns: readonly Column[] = [
  sequence,
  ...committed.filter(({ segment }) => segment === 'identity').map(columnOf),
  ...segmentColumns('identity'),
];

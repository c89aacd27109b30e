import type { CsvColumn, CsvEvent } from '@indelible/protocol';

/*
 * How rows travel from the database: each as one text, of its id and fields,
 * separated by U+001F: at a million rows, what is read is paid for by the
 * column. An event that is large comes as its id alone; so does, in effect,
 * one whose texts hold the separator: it has not the fields it should have.
 */

/** An event of a file. */
export interface ExportedEvent extends CsvEvent {
  /** JSON text of the hashes of erased segments by name. */
  erased?: string | null;
}

export const fieldEnd = 0x1f;
export const uuidBytes = 36;

// Empty text and NULL are the same, as they are when
// events are taken; NULL itself would be left out.
const orEmpty = (column: string) => `coalesce(${column}, '')`;

const cellFields: Record<Exclude<CsvColumn, 'id' | 'timestamp'>, string> = {
  tenantId: 'tenant_id',
  'actor.id': 'actor_id',
  'actor.email': orEmpty('actor_email'),
  'actor.role': 'actor_role',
  'actor.ip': orEmpty('actor_ip'),
  'actor.userAgent': orEmpty('actor_user_agent'),
  action: 'action',
  'resource.type': 'resource_type',
  'resource.id': 'resource_id',
  'resource.name': orEmpty('resource_name'),
  diff: 'diff',
  crossTenant: 'cross_tenant::text',
  reason: orEmpty('reason'),
  category: 'category',
  sequence: 'sequence',
  receivedAt: `to_char(received_at, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`,
  recordedBy: `concat('{"id":"', recorded_by_id, '","kind":', to_json(recorded_by_kind), '}')`,
  before: orEmpty('before::text'),
  after: orEmpty('after::text'),
};

/** SQL of what is packed for the cells of these columns; `id` and `timestamp` come from the id. */
export function csvFieldsOf(columns: readonly CsvColumn[]): string[] {
  return columns.flatMap((name) => (name === 'id' || name === 'timestamp' ? [] : cellFields[name]));
}

/** SQL of what is packed of a whole event, in the order in which `unpackEvent` takes it. */
export const wholeFields: readonly string[] = [
  ...['tenant_id', 'actor_id', orEmpty('actor_email'), 'actor_role', orEmpty('actor_ip')],
  ...[orEmpty('actor_user_agent'), 'action', 'resource_type', 'resource_id'],
  ...[orEmpty('resource_name'), 'diff', 'cross_tenant', orEmpty('reason'), 'category', 'sequence'],
  ...['floor(extract(epoch FROM received_at) * 1000)', 'recorded_by_kind', 'recorded_by_id'],
  ...[orEmpty('before::text'), orEmpty('after::text'), orEmpty('erased::text')],
];

/** The event of a packed row of `wholeFields`; null when it is to be read alone. */
export function unpackEvent(row: string): ExportedEvent | null {
  const parts = row.split('\u001f');
  if (parts.length !== 1 + wholeFields.length) return null;
  const part = (at: number) => parts[at] ?? '';
  return {
    uuid: part(0),
    tenantId: part(1),
    actorId: part(2),
    actorEmail: part(3) || null,
    actorRole: part(4),
    actorIp: part(5) || null,
    actorUserAgent: part(6) || null,
    action: part(7),
    resourceType: part(8),
    resourceId: part(9),
    resourceName: part(10) || null,
    diff: part(11),
    crossTenant: part(12) === 't',
    reason: part(13) || null,
    category: part(14),
    sequence: Number(part(15)),
    receivedAtMs: Number(part(16)),
    recordedByKind: part(17),
    recordedById: part(18),
    before: part(19) || null,
    after: part(20) || null,
    erased: part(21) || null,
  };
}

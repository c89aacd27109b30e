import type { CsvEvent } from '@indelible/protocol';

/** An event of a file; what the file does not need is not there. */
export interface ExportedEvent extends CsvEvent {
  /** JSON text of the hashes of erased segments by name. */
  erased?: string | null;
}

/** U+001F, the information separator one: made for this, and hardly ever met in text. */
export const separator = '\u001f';

// Empty text and NULL are the same, as they are when events are taken; NULL itself would be left out.
const orEmpty = (column: string) => `coalesce(${column}, '')`;

const fields = [
  'tenant_id',
  'actor_id',
  orEmpty('actor_email'),
  'actor_role',
  orEmpty('actor_ip'),
  orEmpty('actor_user_agent'),
  'action',
  'resource_type',
  'resource_id',
  orEmpty('resource_name'),
  'diff',
  'cross_tenant',
  orEmpty('reason'),
  'category',
  'sequence',
];
const furtherFields = [
  'extract(epoch FROM received_at) * 1000',
  'recorded_by_kind',
  'recorded_by_id',
  orEmpty('before::text'),
  orEmpty('after::text'),
  orEmpty('erased::text'),
];

/** SQL of what is packed, in this order; the further ones only of a whole event. */
export function packedFields(whole: boolean): readonly string[] {
  return whole ? [...fields, ...furtherFields] : fields;
}

/** The event of a packed text; null when the separator is in the event too. */
export function unpackEvent(uuid: string, line: string, whole: boolean): ExportedEvent | null {
  const parts = line.split(separator);
  const count = whole ? fields.length + furtherFields.length : fields.length;
  if (parts.length !== count) return null;
  const part = (at: number) => parts[at] ?? '';
  return {
    uuid,
    tenantId: part(0),
    actorId: part(1),
    actorEmail: part(2) || null,
    actorRole: part(3),
    actorIp: part(4) || null,
    actorUserAgent: part(5) || null,
    action: part(6),
    resourceType: part(7),
    resourceId: part(8),
    resourceName: part(9) || null,
    diff: part(10),
    crossTenant: part(11) === 't',
    reason: part(12) || null,
    category: part(13),
    sequence: Number(part(14)),
    receivedAtMs: Math.floor(Number(part(15))),
    recordedByKind: part(16),
    recordedById: part(17),
    before: part(18) || null,
    after: part(19) || null,
    erased: part(20) || null,
  };
}

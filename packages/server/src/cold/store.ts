import type { EventFilter } from '@indelible/protocol';
import type { TenantTx, WriterTx } from '../postgres/db.ts';
import { execute } from '../postgres/sql.ts';
import { wantedKeys } from './key-filter.ts';
import { tenantFolder } from './layout.ts';

/** A file in the object store. */
export interface ColdFile {
  name: string;
  bytes: number;
  /** SHA-256 in hexadecimal. */
  sha256: string;
}

/** A verified part of the archive. */
export interface ColdPart {
  first: number;
  /** Ids of its events that did not come late. */
  lowest: string;
  highest: string;
  events: ColdFile;
  identity: ColdFile;
}

/** A half-open range of ids. */
export interface ColdRange {
  from: string;
  before: string;
}

interface PartRow {
  first: number;
  lowest: string;
  highest: string;
  folder: string;
  files: string;
}

/** The tenant's parts with ids in the range that may hold what the filter wants, oldest first. */
export async function partsHolding(
  tx: TenantTx,
  { from, before }: ColdRange,
  filter: EventFilter = {},
): Promise<ColdPart[]> {
  const values: unknown[] = [tx.tenantId, from, before];
  const add = (value: unknown) => `$${values.push(value)}::int8`;
  const holds = wantedKeys(filter).map((any) => {
    const each = any.map(([first, step]) => `holds_key(keys, ${add(first)}, ${add(step)})`);
    return ` AND (${each.join(' OR ')})`;
  });
  const { rows } = await tx.query<PartRow>({
    text: `SELECT first_sequence AS first, lowest, highest, folder, files FROM cold_parts
      WHERE tenant_id = $1 AND highest >= $2 AND lowest < $3${holds.join('')} ORDER BY first_sequence`,
    values,
  });
  return rows.map((row) => partOf(tx.tenantId, row));
}

function partOf(tenantId: string, { folder, files, ...range }: PartRow): ColdPart {
  // The path names the tenant: a row of another one leads nowhere.
  if (!folder.startsWith(`${tenantFolder(tenantId)}/`)) {
    throw new Error('a part of the archive is not in the folder of its tenant');
  }
  const { events, identity } = JSON.parse(files) as Record<'events' | 'identity', ColdFile>;
  const inFolder = (file: ColdFile) => ({ ...file, name: `${folder}/${file.name}` });
  return { ...range, events: inFolder(events), identity: inFolder(identity) };
}

/** A part as the owner stores it after its verification. */
interface VerifiedPart {
  tenantId: string;
  first: number;
  last: number;
  lowest: string | null;
  highest: string | null;
  folder: string;
  files: object;
  keys: Buffer;
}

/** Stores a part, or replaces it after an erasure. */
export function putColdPart(tx: WriterTx, part: VerifiedPart) {
  const { tenantId, first, last, lowest, highest, folder, files, keys } = part;
  return execute(tx)`
    INSERT INTO cold_parts VALUES (${tenantId}, ${first}, ${last}, ${lowest}, ${highest}, ${folder},
      ${JSON.stringify(files)}, ${keys})
    ON CONFLICT (tenant_id, first_sequence) DO UPDATE
    SET lowest = excluded.lowest, highest = excluded.highest, files = excluded.files, keys = excluded.keys`;
}

import { type EventFilter, eventIdFromUuid, facetNames, facetOf } from '@indelible/protocol';
import { coldSource, filesOf, notLate } from '../cold/cold-events.store.ts';
import type { ColdPart, ColdRange } from '../cold/store.ts';
import type { TenantTx } from '../postgres/db.ts';
import {
  filterConditions,
  Params,
  type SqlFilter,
  shownSince,
  type Visibility,
} from './filter-sql.store.ts';

/* Parts of the archive as DuckDB sees them: as if their rows were in `audit_events`. */

/** Which archived events match. */
export interface ColdMatches {
  filter: SqlFilter;
  range: ColdRange;
}

/** DuckDB compares texts: ids are TypeIDs, which sort like their UUIDs. */
export class ColdParams extends Params {
  override texts(values: readonly string[]): string {
    return `${this.add(values)}::VARCHAR[]`;
  }

  override uuids(values: readonly string[]): string {
    return this.texts(values);
  }

  override eventIds(values: readonly string[]): string {
    return this.texts(values.map(eventIdFromUuid));
  }
}

/** Rows of the files of these parts, as if they were rows of `audit_events`. */
export function readParts(
  tx: TenantTx,
  parts: readonly ColdPart[],
  isPersonal: boolean,
  params: Params,
  statement: (from: string) => string,
): Promise<unknown[][]> {
  const personal = isPersonal ? parts.map(({ identity }) => identity) : [];
  const events = parts.map((part) => part.events);
  const from = (paths: readonly string[]) => {
    const joined = isPersonal
      ? `JOIN ${filesOf(paths.slice(events.length))} i USING (sequence)`
      : '';
    const more = isPersonal ? personalColumns : [`${behalfIds} AS on_behalf_of`];
    const columns = [...eventColumns, ...more];
    return `(SELECT ${columns.join(', ')} FROM ${filesOf(paths.slice(0, events.length))} e ${joined}
      WHERE action IS NOT NULL AND ${notLate}) AS audit_events`;
  };
  const all = [...events, ...personal];
  return coldSource(tx).read(all, (paths) => statement(from(paths)), params.values);
}

/** As `addressKey` of the protocol. */
const address = (email: string, externalId: string) =>
  lowered(`coalesce(${email}, CASE WHEN contains(${externalId}, '@') THEN ${externalId} END)`);

// Unicode's Final_Sigma: after a letter and before none, whatever marks and dots are between.
const [cased, ignored] = ['\\p{Lu}\\p{Ll}\\p{Lt}', `\\p{M}\\p{Lm}\\p{Sk}.:·‧‘’''`];
const finalSigma = `([${cased}][${ignored}]*)Σ([${ignored}]*(?:$|[^${cased}${ignored}]))`;

/** In lower case as JavaScript writes it: DuckDB takes each letter by itself. */
const lowered = (text: string) =>
  `lower(CASE WHEN contains(${text}, 'Σ') OR contains(${text}, 'İ')
    THEN regexp_replace(replace(${text}, 'İ', 'i\u0307'), '${finalSigma}', '\\1ς\\2', 'g')
    ELSE ${text} END)`;

/** The columns of `audit_events` that filters compare. */
const eventColumns = [
  ...['sequence', 'id', '"timestamp"', 'received_at', 'actor_id', 'action', 'resource_type'],
  ...['resource_id', 'category', 'cross_tenant', 'reason'],
  `context->>'outcome' AS outcome`,
  `context->'actor'->>'type' AS actor_type`,
  `context->>'correlationId' AS correlation_id`,
];
const behalfIds = `json_extract_string(context, '$.onBehalfOf[*].id')`;
const behalfAddresses = `list_transform(json_extract(context_identity, '$.onBehalfOf[*]'),
  lambda person: ${address(`(person->>'email')`, `(person->>'externalId')`)})`;
const personalColumns = [
  `list_concat(${behalfIds}, ${behalfAddresses}) AS on_behalf_of`,
  'actor_email',
  'actor_ip',
  `coalesce(${address('actor_email', `(context_identity->'actor'->>'externalId')`)}, '') AS actor_email_key`,
];

/** Whether a condition needs the file of identities. */
export function needsIdentity(filter: EventFilter): boolean {
  return facetNames.some((facet) => {
    const { any, none } = filter[facet] ?? { any: [], none: [] };
    return (
      facet !== 'q' &&
      [...any, ...none].some((value) => facetOf(facet).heldIn(value).includes('identity'))
    );
  });
}

/** Of events in these parts; also those of what the plan shows. */
export function conditionsOf(
  visible: Visibility,
  { filter, range }: ColdMatches,
  parts: readonly ColdPart[],
  params: Params,
): string[] {
  const { oldest } = visible;
  const isWhollyShown = range.from >= oldest;
  const shown = isWhollyShown
    ? []
    : [
        `(id >= ${params.add(eventIdFromUuid(oldest))} OR received_at >= ${params.add(shownSince(visible))})`,
      ];
  // Ids are most of a file: what lies inside the range is not compared.
  return [
    'true',
    ...(parts.every(({ lowest }) => lowest >= range.from)
      ? []
      : [`id >= ${params.add(eventIdFromUuid(range.from))}`]),
    ...(parts.every(({ highest }) => highest < range.before)
      ? []
      : [`id < ${params.add(eventIdFromUuid(range.before))}`]),
    ...shown,
    ...filterConditions(filter, params),
  ];
}

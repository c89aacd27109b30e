import { emailKey, facetNames, facetOf, folded, type JsonValue } from '@indelible/protocol';
import type { Queries, WriterTx } from '../postgres/db.ts';
import { textArray, uuidArray } from '../postgres/pg-arrays.ts';
import { execute, raw, rowsOf } from '../postgres/sql.ts';
import type { Person } from './elsewhere.store.ts';

/* Stored queries that name a person: an erasure deletes them. Statements of the owner role. */

/** Tables with queries: what of a row is a filter, and what is text. */
const tables = {
  searches: { table: 'searches', filters: 'filters, unknown_values', text: 'note' },
  views: { table: 'views', filters: 'filters', text: 'name' },
  alertRules: {
    table: 'alert_rules',
    filters: "settings->'filters', settings->'followedBy'",
    text: "settings->>'name'",
  },
  webhooks: { table: 'webhooks', filters: 'filters', text: 'NULL' },
  exports: { table: 'exports', filters: 'filters', text: 'NULL' },
};

/** The ids of stored queries that name a person: the values of a filter, its words, or the name. */
export type NamedQueries = Record<keyof typeof tables, string[]>;

export async function findNamedQueries(owner: Queries, person: Person): Promise<NamedQueries> {
  const found: [string, string[]][] = [];
  for (const [name, { table, filters, text }] of Object.entries(tables)) {
    const rows = await rowsOf<{ id: string; filters: string; text: string | null }>(owner)`
      SELECT id, json_build_array(${raw(filters)}) AS filters, ${raw(text)} AS text
      FROM ${raw(table)} WHERE tenant_id = ${person.tenantId} ORDER BY id`;
    const named = rows.filter(
      (row) =>
        (JSON.parse(row.filters) as Filter[]).some((filter) => namesIn(filter, person)) ||
        hasWordsOfAny(person, row.text ?? ''),
    );
    found.push([name, named.map(({ id }) => id)]);
  }
  return Object.fromEntries(found) as NamedQueries;
}

/**
 * Deletes the queries, because one without its filter would select more. An export stays without
 * its query: its row finds the file to remove. A queued one fails, or it would export everything.
 */
export async function deleteQueries(
  tx: WriterTx,
  tenantId: string,
  { exports, ...deleted }: NamedQueries,
  atMs: number,
): Promise<void> {
  for (const [name, ids] of Object.entries(deleted)) {
    const { table } = tables[name as keyof typeof deleted];
    await execute(tx)`DELETE FROM ${raw(table)}
      WHERE tenant_id = ${tenantId} AND id = ANY (${uuidArray(ids)}::uuid[])`;
  }
  const unfinished = textArray(['queued', 'running']);
  await execute(tx)`UPDATE exports SET filters = '{}',
      failure = CASE WHEN status = ANY (${unfinished}) THEN 'interrupted' ELSE failure END,
      finished_at = coalesce(finished_at, ${new Date(atMs)}),
      status = CASE WHEN status = ANY (${unfinished}) THEN 'failed' ELSE status END
    WHERE tenant_id = ${tenantId} AND id = ANY (${uuidArray(exports)}::uuid[])`;
}

type Filter = Record<string, JsonValue> | null;

const idFacets: readonly string[] = facetNames.filter(
  (name) => facetOf(name).external !== undefined || name === 'target',
);

function namesIn(filter: Filter, person: Person): boolean {
  return Object.entries(filter ?? {}).some(([name, values]) =>
    [values].flat().some((value) => {
      const word = String(value).replace(/^!/, '');
      if (name === 'q') return hasWordsOfAny(person, word);
      if (!idFacets.includes(name)) return false;
      return person.addresses.includes(emailKey(word)) || person.ownIds.includes(word);
    }),
  );
}

/** A number is no name in a text: many things have it. */
function hasWordsOfAny({ addresses, ownIds }: Person, text: string): boolean {
  const names = [...addresses, ...ownIds.filter((id) => /\D/.test(id))];
  return names.some((name) => hasWordsOf(name, text));
}

/** Whether a text has the words of this name, and not of a longer one that contains it. */
function hasWordsOf(name: string, text: string): boolean {
  const character = '[\\p{L}\\p{N}]';
  const words = folded(name).match(/[\p{L}\p{N}]+/gu);
  if (words === null) return text.includes(name);
  const before = `(?<!${character}|${character}[._%+-])`;
  const after = `(?!${character}|[.-]${character})`;
  const between = '[^\\p{L}\\p{N}]+';
  return new RegExp(before + words.join(between) + after, 'u').test(folded(text));
}

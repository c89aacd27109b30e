import { createHash } from 'node:crypto';
import type pg from 'pg';

/*
 * The one way to write a statement. `query` itself is for settings, locks and statements that name
 * one of many partitions, because their prepared form would be used once; for filters of events,
 * which have too many texts (`rowsWith` of `events/filter-sql.store.ts`); and for connections that
 * may not keep statements: migrations, `distribute.ts` and `doctor`.
 */

/** A statement, or a part of one, with the values between its texts. */
class Sql implements pg.QueryConfig {
  readonly parts: readonly string[];
  readonly values: unknown[];
  readonly text: string;

  constructor(parts: readonly string[], values: unknown[]) {
    this.parts = parts;
    this.values = values;
    this.text = parts.reduce((text, part, at) => `${text}$${at}${part}`);
  }

  /** A connection prepares each text once, under this name, and keeps it. */
  get name(): string {
    return nameOf(this.text);
  }
}

/**
 * A statement: values in it become parameters, and parts of statements stay what they are. The
 * number of different texts must be limited, because a connection keeps them all.
 */
export function sql(texts: TemplateStringsArray, ...inserted: readonly unknown[]): Sql {
  const parts = [''];
  const values: unknown[] = [];
  const write = ([first = '', ...further]: readonly string[]) => {
    parts.push(parts.pop() + first, ...further);
  };
  for (const [at, text] of texts.entries()) {
    write([text]);
    if (at === inserted.length) break;
    const each = inserted[at];
    write(each instanceof Sql ? each.parts : ['', '']);
    values.push(...(each instanceof Sql ? each.values : [each]));
  }
  return new Sql(parts, values);
}

/** A part that is known only at run time, such as a table: never what a caller has sent. */
export const raw = (text: string | number) => new Sql([String(text)], []);

const names = new Map<string, string>();

function nameOf(text: string): string {
  const name = names.get(text) ?? createHash('sha256').update(text).digest('base64url');
  names.set(text, name);
  return name;
}

/** What runs statements: a connection, or a transaction. */
interface Session {
  query<R extends pg.QueryResultRow>(query: pg.QueryConfig): Promise<pg.QueryResult<R>>;
}

type Written = Parameters<typeof sql>;

/** The rows of a statement: rowsOf(tx)`SELECT …`. */
export const rowsOf =
  <R extends pg.QueryResultRow>(session: Session) =>
  async (...statement: Written): Promise<R[]> =>
    (await session.query<R>(sql(...statement))).rows;

/** The row that a statement finds, of which there is at most one; null without one. */
export const firstRow =
  <R extends pg.QueryResultRow>(session: Session) =>
  async (...statement: Written): Promise<R | null> =>
    (await session.query<R>(sql(...statement))).rows[0] ?? null;

/** The `count` that a statement tells; 0 without a row. */
export const countOf =
  (session: Session) =>
  async (...statement: Written): Promise<number> =>
    (await session.query<{ count: number }>(sql(...statement))).rows[0]?.count ?? 0;

/** The number of rows that a statement changes or finds. */
export const execute =
  (session: Session) =>
  async (...statement: Written): Promise<number> =>
    (await session.query(sql(...statement))).rowCount ?? 0;

/** Whether a statement changes or finds a row. */
export const hasRow =
  (session: Session) =>
  async (...statement: Written): Promise<boolean> =>
    ((await session.query(sql(...statement))).rowCount ?? 0) > 0;

/** A time as a parameter. */
export const dateOrNull = (ms: number | null) => (ms === null ? null : new Date(ms));

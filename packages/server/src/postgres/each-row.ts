import pg from 'pg';

/** A row as PostgreSQL writes it: the text of each value. */
export type RowTexts = readonly (string | null)[];

/**
 * Hands over each row of a statement as soon as it has arrived. PostgreSQL sends the next ones when
 * `take` has returned. So only the taken row and some 64 KiB are in memory, however many rows there
 * are. If `take` throws, the other rows are passed over, and the call throws.
 */
export async function eachRow(
  tx: Pick<pg.ClientBase, 'query'>,
  statement: pg.QueryConfig,
  take: (row: RowTexts) => void,
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const done: Done = (error) => (error ? reject(error) : resolve());
  // A session that refuses the statement at once, as tests make it do, never calls `done`.
  await Promise.all([tx.query(new RowQuery(statement, take, done)), promise]);
}

type Done = (error: unknown) => void;

class RowQuery extends pg.Query {
  readonly #take: (row: RowTexts) => void;
  readonly #failure: { error?: unknown };

  constructor(statement: pg.QueryConfig, take: (row: RowTexts) => void, done: Done) {
    const failure: { error?: unknown } = {};
    super(statement, (error) => done(error ?? failure.error));
    this.#take = take;
    this.#failure = failure;
  }

  /** Called by `pg`. An error must not leave it: it would end the process. */
  handleDataRow({ fields }: { fields: RowTexts }): void {
    if ('error' in this.#failure) return;
    try {
      this.#take(fields);
    } catch (error) {
      this.#failure.error = error;
    }
  }
}

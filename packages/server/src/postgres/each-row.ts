import pg from 'pg';

/** A row as PostgreSQL writes it: the text of each value. */
export type RowTexts = readonly (string | null)[];

const asTexts = { rowMode: 'array', types: { getTypeParser: () => (text: string) => text } };

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
  const query = new pg.Query({ ...statement, ...asTexts });
  let failure: { error: unknown } | null = null;
  query.on('row', (row: RowTexts) => {
    if (failure !== null) return;
    try {
      take(row);
    } catch (error) {
      // It must not leave the listener: it would end the process.
      failure = { error };
    }
  });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  query.on('error', reject);
  query.on('end', () => (failure === null ? resolve() : reject(failure.error)));
  // A session that refuses the statement at once, as tests make it do, emits nothing.
  await Promise.all([tx.query(query), promise]);
}

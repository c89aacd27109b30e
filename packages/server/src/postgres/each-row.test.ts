import type { Socket } from 'node:net';
import { testService } from '@indelible/testing/service';
import { expect, test } from 'vitest';
import { withOwnerSession } from './db.ts';
import { eachRow } from './each-row.ts';

const service = await testService();

const longRows = { text: `SELECT n, repeat('x', 100000) FROM generate_series(1, 300) AS n` };

test('rows are taken as they come, so little of a large answer is in memory', async () => {
  await withOwnerSession(service.ownerUrl, ({ transaction }) =>
    transaction(async (tx) => {
      const stream = tx.connection.stream as Socket;
      const before = stream.bytesRead;
      let taken = 0;
      const left: number[] = [];
      await eachRow(tx, longRows, ([n, text]) => {
        taken += String(text).length;
        left.push(stream.bytesRead - before - taken);
        expect(Number(n)).toBe(left.length);
      });
      expect(taken).toBe(30_000_000);
      expect(Math.max(...left)).toBeLessThan(2 ** 20);
    }),
  );
});

test('an error of the taker ends the call, and the session can be used again', async () => {
  await withOwnerSession(service.ownerUrl, async ({ transaction }) => {
    let taken = 0;
    const failing = transaction((tx) =>
      eachRow(tx, longRows, () => {
        taken += 1;
        if (taken === 2) throw new Error('no third row');
      }),
    );
    await expect(failing).rejects.toThrow('no third row');
    expect(taken).toBe(2);
    const rows: unknown[] = [];
    await transaction((tx) => eachRow(tx, { text: 'SELECT 1, NULL' }, (row) => rows.push(row)));
    expect(rows).toEqual([['1', null]]);
  });
});

test('a statement that fails after some rows is told', async () => {
  await withOwnerSession(service.ownerUrl, async ({ transaction }) => {
    const rows: unknown[] = [];
    const text = 'SELECT 1 / (200 - n) FROM generate_series(1, 300) AS n';
    const failing = transaction((tx) => eachRow(tx, { text }, (row) => rows.push(row)));
    await expect(failing).rejects.toThrow('division by zero');
    expect(rows.length).toBeLessThan(200);
  });
});

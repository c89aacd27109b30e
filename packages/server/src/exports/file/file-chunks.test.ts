import { setImmediate } from 'node:timers/promises';
import { recordAll } from '@indelible/testing/event-pool';
import { askForJob, exportRow, exportsUrl, type ShownExport } from '@indelible/testing/exports';
import { eventOf, testService } from '@indelible/testing/service';
import { parse } from 'csv-parse/sync';
import { expect, test } from 'vitest';
import { FileTally, fileChunks } from './file-chunks.ts';

const service = await testService();
const tenant = await service.tenant();

const dayMs = 86_400_000;
test('events of any size come whole and in order, a few MiB at a time', async () => {
  const { id, key } = await service.tenant();
  const sizes = Array.from({ length: 24 }, (_, n) => (n % 2 === 0 ? 250_000 : 10));
  const eventWith = (size: number) => eventOf({ before: { text: 'x'.repeat(size) } });
  for (const size of sizes) await recordAll(service, key, [eventWith(size)]);
  const row = await exportRow(service, id, await askForJob(service, key, { format: 'ndjson' }));
  const chunks: string[] = [];
  for await (const lines of fileChunks(service.db, row, new FileTally())) chunks.push(`${lines}`);
  const events = chunks
    .join('')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  const texts = events.flatMap(({ before }) => (before ? [before.text.length] : []));
  expect(texts).toEqual(sizes.toReversed());
  expect(chunks.length).toBeGreaterThan(1);
  for (const chunk of chunks) expect(chunk.length).toBeLessThan(2.5 * 2 ** 20);
});

/** In every statement a look at an event takes a millisecond, and a statement may take 150. */
async function slowDown(): Promise<void> {
  await service.owner.query(
    `CREATE FUNCTION nap() RETURNS boolean LANGUAGE plpgsql COST 0.0001
       AS $$ BEGIN PERFORM pg_sleep(0.001); RETURN true; END $$;
     GRANT EXECUTE ON FUNCTION nap TO indelible_reader;
     CREATE POLICY nap ON audit_events AS RESTRICTIVE FOR SELECT TO indelible_reader USING (nap())`,
  );
  service.db.reader.on('connect', (client) => client.query('SET statement_timeout = 150'));
  const idle = await Promise.all(Array.from({ length: 6 }, () => service.db.reader.connect()));
  for (const client of idle) client.release(true);
}

/** The rows of the file of an export, made here and now. */
async function rowsOf(made: ShownExport): Promise<Record<string, string>[]> {
  const row = await exportRow(service, tenant.id, made);
  let text = '';
  for await (const lines of fileChunks(service.db, row, new FileTally())) text += lines;
  return parse(text, { columns: true });
}

test('a receiver that stops reading holds one page in memory, and no connection', async () => {
  const { id, key } = await service.tenant();
  const events = Array.from({ length: 600 }, () => eventOf());
  await recordAll(service, key, events);
  const row = await exportRow(service, id, await askForJob(service, key));
  let reads = 0;
  const count = () => {
    reads += 1;
  };
  const { reader } = service.db;
  reader.on('acquire', count);
  const chunks = fileChunks(service.db, row, new FileTally());
  await chunks.next(); // the header
  const { value: lines } = await chunks.next();
  await setImmediate();
  reader.off('acquire', count);
  expect(String(lines).trimEnd().split('\r\n')).toHaveLength(250);
  expect([reads, reader.totalCount - reader.idleCount]).toEqual([1, 0]);
  await chunks.return();
});

test('a filter that matches next to nothing comes to its end, however slow a look at the log is', {
  tags: 'plain',
}, async () => {
  const at = (day: number) => ({
    timestamp: new Date(service.clock.now - day * dayMs).toISOString(),
  });
  const many = Array.from({ length: 600 }, (_, n) => eventOf(at(n / 10)));
  const few = [0.05, 30, 59].map((day) => eventOf({ ...at(day), action: 'publish' }));
  await recordAll(service, tenant.key, [...many, ...few]);
  const filters = { action: '!update', resource: '!tenant' };
  const job = await askForJob(service, tenant.key, { filters });
  await slowDown();
  const list = '/api/audit-logs?action=!update&resource=!tenant';
  expect((await service.call({ url: list, key: tenant.key })).status).toBe(503);
  const rows = await rowsOf(job);
  expect(rows.map(({ action }) => action)).toEqual(['create', 'publish', 'publish', 'publish']);
  // What cannot be counted in time is made by a worker:
  // nobody waits at the other end of a connection.
  const body = { filters, format: 'csv' };
  const answer = await service.call({ method: 'POST', url: exportsUrl, key: tenant.key, body });
  expect([answer.status, answer.body.rowsTotal]).toEqual([202, null]);
});

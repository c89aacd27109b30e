import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { PrismaPg } from '@prisma/adapter-pg';
import { drizzle } from 'drizzle-orm/node-postgres';
import { drizzle as drizzlePostgresJs } from 'drizzle-orm/postgres-js';
import { Kysely, sql as kyselySql, PostgresDialect } from 'kysely';
import postgres from 'postgres';
import { afterAll, expect, test } from 'vitest';
import {
  createOutbox,
  fromDrizzle,
  fromKysely,
  fromPg,
  fromPostgresJs,
  fromPrisma,
  poolFromPostgresJs,
} from './index.ts';
import { changeEvent } from './testing/change-event.ts';
import { hostDatabase } from './testing/host-database.ts';

const host = await hostDatabase();
const outbox = createOutbox();
const tenantId = randomUUID();
afterAll(() => host.close());

/** A change and its event in one transaction of a library, which is given up when `fail` throws. */
type Change = (queueId: string, fail: () => void) => Promise<string>;

const insert = (queueId: string) => `INSERT INTO queues VALUES ('${queueId}', 1)`;
class GivenUp extends Error {}

/** That the library commits both or neither. */
async function expectBothOrNeither(change: Change): Promise<void> {
  const [kept, givenUp] = [randomUUID(), randomUUID()];
  const id = await change(kept, () => {});
  const fail = () => {
    throw new GivenUp();
  };
  await expect(change(givenUp, fail)).rejects.toThrow(GivenUp);
  const { rows: queues } = await host.pool.query('DELETE FROM queues RETURNING id');
  expect(queues).toEqual([{ id: kept }]);
  const { rows } = await host.pool.query('DELETE FROM audit_outbox RETURNING *');
  expect(rows).toMatchObject([{ event_id: id, tenant_id: tenantId, rejected_at: null }]);
  expect(JSON.parse(rows[0].event)).toEqual({ id, ...eventOf(kept) });
}

// Characters that quoting gets wrong when it is done by hand.
const eventOf = (queueId: string) => {
  const { resource, ...event } = changeEvent(tenantId, queueId, 1);
  return { ...event, resource: { ...resource, name: `O'Hara \\ "ß" $1 ? {}` } };
};

test('pg: change and event are committed together, or neither', async () => {
  const audit = outbox.with(fromPg);
  await expectBothOrNeither(async (queueId, fail) => {
    const client = await host.pool.connect();
    try {
      await client.query('BEGIN');
      await client.query(insert(queueId));
      const id = await audit.inTransaction(client, eventOf(queueId));
      fail();
      await client.query('COMMIT');
      return id;
    } finally {
      await client.query('ROLLBACK');
      client.release();
    }
  });
});

/** postgres.js takes a socket's path where a URL names its folder. */
function postgresJs(): postgres.Sql {
  const { username, password, pathname, searchParams } = new URL(host.url);
  return postgres({
    path: join(searchParams.get('host') ?? '', '.s.PGSQL.5432'),
    user: username,
    password: decodeURIComponent(password),
    database: pathname.slice(1),
    max: 2,
  });
}

test('postgres.js: change and event are committed together, or neither', async () => {
  const sql = postgresJs();
  const audit = outbox.with(fromPostgresJs);
  await expectBothOrNeither((queueId, fail) =>
    sql.begin(async (tx) => {
      await tx.unsafe(insert(queueId));
      const id = await audit.inTransaction(tx, eventOf(queueId));
      fail();
      return id;
    }),
  );
  await sql.end();
});

test('Kysely: change and event are committed together, or neither', async () => {
  const db = new Kysely<object>({ dialect: new PostgresDialect({ pool: host.pool }) });
  const audit = outbox.with(fromKysely);
  await expectBothOrNeither((queueId, fail) =>
    db.transaction().execute(async (trx) => {
      await kyselySql.raw(insert(queueId)).execute(trx);
      const id = await audit.inTransaction(trx, eventOf(queueId));
      fail();
      return id;
    }),
  );
});

test('Drizzle on pg and on postgres.js: change and event are committed together, or neither', async () => {
  const sql = postgresJs();
  const audit = outbox.with(fromDrizzle);
  for (const db of [drizzle({ client: host.pool }), drizzlePostgresJs({ client: sql })]) {
    await expectBothOrNeither((queueId, fail) =>
      db.transaction(async (tx) => {
        await tx.execute(insert(queueId));
        const id = await audit.inTransaction(tx, eventOf(queueId));
        fail();
        return id;
      }),
    );
  }
  await sql.end();
});

interface PrismaClient {
  $transaction<T>(run: (tx: PrismaTx) => Promise<T>): Promise<T>;
  $disconnect(): Promise<void>;
}
interface PrismaTx {
  queues: { create(input: { data: { id: string; changes: number } }): Promise<unknown> };
  $executeRawUnsafe(text: string, ...values: unknown[]): Promise<number>;
}

const schema = `datasource db {
  provider = "postgresql"
}
generator client {
  provider = "prisma-client-js"
  output   = "./generated"
}
model queues {
  id      String @id @db.Uuid
  changes Int
}
`;

/**
 * A client that Prisma generates for the host's table,
 * below the repository so that it finds Prisma.
 */
function prismaClient(): { prisma: PrismaClient; remove: () => void } {
  const root = join(import.meta.dirname, '../../../..');
  mkdirSync(join(root, '.cache'), { recursive: true });
  const folder = mkdtempSync(join(root, '.cache/prisma-'));
  const schemaFile = join(folder, 'schema.prisma');
  writeFileSync(schemaFile, schema);
  const program = join(root, 'node_modules/prisma/build/index.js');
  // The schema engine, which would be downloaded, is not needed to generate: any program will do.
  const env = { ...process.env, PRISMA_SCHEMA_ENGINE_BINARY: '/bin/true', CHECKPOINT_DISABLE: '1' };
  execFileSync(process.execPath, [program, 'generate', '--schema', schemaFile], { env });
  const generated = createRequire(import.meta.url)(join(folder, 'generated'));
  const adapter = new PrismaPg({ connectionString: host.url });
  const prisma: PrismaClient = new generated.PrismaClient({ adapter });
  return { prisma, remove: () => rmSync(folder, { recursive: true }) };
}

test('Prisma: change and event are committed together, or neither', async () => {
  const { prisma, remove } = prismaClient();
  const audit = outbox.with(fromPrisma);
  await expectBothOrNeither((queueId, fail) =>
    prisma.$transaction(async (tx) => {
      await tx.queues.create({ data: { id: queueId, changes: 1 } });
      const id = await audit.inTransaction(tx, eventOf(queueId));
      fail();
      return id;
    }),
  );
  await prisma.$disconnect();
  remove();
});

test('a host that has postgres.js alone relays over it', async () => {
  const sql = postgresJs();
  const audit = outbox.with(fromPostgresJs);
  const ids: string[] = [];
  for (const change of [1, 2, 3]) {
    const event = changeEvent(tenantId, randomUUID(), change);
    await sql.begin(async (tx) => void ids.push(await audit.inTransaction(tx, event)));
  }
  const sent: string[] = [];
  const client = {
    recordBatchTexts: async (texts: readonly string[]) => {
      sent.push(...texts.map((text) => JSON.parse(text).id));
      return texts.map((_, index) => ({ index, status: 'created' as const }));
    },
  };
  await outbox.relay({ pool: poolFromPostgresJs(sql), client }).drain();
  expect(sent).toEqual(ids);
  expect((await host.pool.query('SELECT FROM audit_outbox')).rowCount).toBe(0);
  await sql.end();
});

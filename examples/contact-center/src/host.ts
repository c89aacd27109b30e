import { buildHost } from './app.ts';
import { type AuditConnection, connectAudit, outbox } from './audit.ts';
import { openDatabase } from './database.ts';
import { firstData } from './first-data.ts';

export interface HostOptions {
  databaseUrl: string;
  port: number;
  /** Signs the sessions' cookies. */
  cookieSecret: string;
}

/**
 * Starts the product. It listens before it knows its audit log service, because the service must be
 * told where the product is; changes made meanwhile wait in the outbox.
 */
export async function startHost({ databaseUrl, port, cookieSecret }: HostOptions) {
  const pool = await openDatabase(databaseUrl, outbox.migration);
  let connection: AuditConnection | null = null;
  const audit = () => {
    if (!connection) throw new Error('the product is not connected to its audit log yet');
    return connection;
  };
  const app = await buildHost({ pool, audit, cookieSecret });
  const url = await app.listen({ port, host: '127.0.0.1' });
  return {
    url,
    /** Connects the product to its audit log service, or to another one; then screens answer. */
    async connect(service: { url: string; platformKey: string }) {
      await connection?.stop();
      connection = await connectAudit(pool, { ...service, ownUrl: url });
      await firstData(pool);
    },
    async stop() {
      await app.close();
      await connection?.stop();
      await pool.end();
    },
  };
}

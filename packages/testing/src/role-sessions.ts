import pg from 'pg';
import { atEnd } from './at-end.ts';
import { poolEvents, recordAll } from './event-pool.ts';
import { type TestService, testService } from './service.ts';

export const roles = ['indelible_reader', 'indelible_writer', 'login'] as const;
export type Role = (typeof roles)[number];

/** A service with a tenant's log, and a connection in each role that serves. */
interface RoleSessions {
  service: TestService;
  tenant: { id: string; key: string };
  /** The SQLSTATE of a statement in a transaction of its own that is rolled back, or `done`. */
  attempt(role: Role, sql: string, values?: unknown[]): Promise<string>;
}

export async function roleSessions(): Promise<RoleSessions> {
  const service = await testService();
  const tenant = await service.tenant();
  // Enough for a tile and a tail.
  await recordAll(service, tenant.key, poolEvents(300, service.clock.now, 20));
  const clients = new Map<Role, pg.Client>();
  for (const role of roles) {
    const options = `-c search_path=indelible${role === 'login' ? '' : ` -c role=${role}`}`;
    const client = new pg.Client({ connectionString: service.servingUrl, options });
    await client.connect();
    atEnd(() => client.end());
    clients.set(role, client);
  }
  return {
    service,
    tenant,
    async attempt(role, sql, values = []) {
      const client = clients.get(role);
      if (!client) throw new Error(`no connection as ${role}`);
      await client.query('BEGIN');
      try {
        await client.query("SELECT set_config('app.tenant_id', $1, true)", [tenant.id]);
        await client.query(sql, values);
        return 'done';
      } catch (error) {
        return String((error as { code?: string }).code);
      } finally {
        await client.query('ROLLBACK');
      }
    },
  };
}

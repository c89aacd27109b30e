import { performance } from 'node:perf_hooks';
import type { BenchService } from './bench-service.ts';

/** PostgreSQL's own CSV of these events, to a program that keeps nothing. */
export async function copySeconds({ owner }: BenchService, which: string): Promise<number> {
  const columns =
    'id, tenant_id, actor_id, actor_email, actor_role, actor_ip, actor_user_agent, action, ' +
    'resource_type, resource_id, resource_name, diff, cross_tenant, reason, category, sequence';
  const query = `SELECT ${columns} FROM audit_events WHERE ${which}`;
  const started = performance.now();
  await owner.query(`COPY (${query}) TO PROGRAM 'cat > /dev/null' WITH (FORMAT csv, HEADER)`);
  return (performance.now() - started) / 1_000;
}

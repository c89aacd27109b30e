import { randomUUID } from 'node:crypto';
import Fastify from 'fastify';
import pg from 'pg';

/*
 * The audit log that a team writes itself: a route with a schema, and one INSERT a request. No log,
 * no proof, no ids of the caller. Started by bench/home-made.ts: prints its URL when ready.
 */

interface Sent {
  tenantId: string;
  actor: { id: string; email: string; role: string; ip: string; userAgent: string };
  action: string;
  resource: { type: string; id: string; name: string };
  diff: object;
}

const text = { type: 'string', maxLength: 500 };
const uuid = { type: 'string', pattern: '^[0-9a-f-]{36}$' };
const objectOf = (properties: object) => ({
  type: 'object',
  required: Object.keys(properties),
  properties,
});
const event = objectOf({
  tenantId: uuid,
  actor: objectOf({ id: uuid, email: text, role: text, ip: text, userAgent: text }),
  action: text,
  resource: objectOf({ type: text, id: uuid, name: text }),
  diff: { type: 'object' },
});

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL });
const columns = `id, tenant_id, received_at, actor_id, actor_email, actor_role, actor_ip, user_agent, action,
  resource_type, resource_id, resource_name, diff`;
const width = 13;

const valuesOf = ({ tenantId, actor, action, resource, diff }: Sent) => [
  randomUUID(),
  tenantId,
  new Date(),
  actor.id,
  actor.email,
  actor.role,
  actor.ip,
  actor.userAgent,
  action,
  resource.type,
  resource.id,
  resource.name,
  JSON.stringify(diff),
];

async function insert(events: readonly Sent[]): Promise<void> {
  const rows = events.map((_, row) => {
    const at = Array.from({ length: width }, (_, column) => `$${row * width + column + 1}`);
    return `(${at.join(', ')})`;
  });
  const text = `INSERT INTO home_made (${columns}) VALUES ${rows.join(', ')}`;
  await pool.query(text, events.flatMap(valuesOf));
}

await pool.query(`
  CREATE TABLE IF NOT EXISTS home_made (id uuid PRIMARY KEY, tenant_id uuid NOT NULL,
    received_at timestamptz NOT NULL, actor_id uuid NOT NULL, actor_email text, actor_role text, actor_ip text,
    user_agent text, action text NOT NULL, resource_type text NOT NULL, resource_id uuid NOT NULL,
    resource_name text, diff jsonb);
  CREATE INDEX IF NOT EXISTS home_made_time ON home_made (tenant_id, received_at);
  CREATE INDEX IF NOT EXISTS home_made_actor ON home_made (tenant_id, actor_id, received_at);
  CREATE INDEX IF NOT EXISTS home_made_email ON home_made (tenant_id, actor_email, received_at);
  CREATE INDEX IF NOT EXISTS home_made_action ON home_made (tenant_id, action, received_at);
  CREATE INDEX IF NOT EXISTS home_made_type ON home_made (tenant_id, resource_type, received_at);
  CREATE INDEX IF NOT EXISTS home_made_resource ON home_made (tenant_id, resource_id, received_at)`);

const app = Fastify({ bodyLimit: 8 * 2 ** 20 });
app.post<{ Body: Sent }>('/events', { schema: { body: event } }, async ({ body }, reply) => {
  await insert([body]);
  return reply.code(201).send({ status: 'created' });
});
const events = { type: 'array', items: event };
app.post<{ Body: { events: Sent[] } }>(
  '/events/batch',
  { schema: { body: objectOf({ events }) } },
  async ({ body }) => {
    await insert(body.events);
    return { status: 'created' };
  },
);
process.stdout.write(`${await app.listen({ host: '127.0.0.1', port: 0 })}\n`);
process.on('SIGTERM', () => process.exit(0));

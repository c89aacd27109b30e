import createClient from 'openapi-fetch';
import { event, type Seen, unknownId } from './event.ts';
import type { components, paths } from './generated/openapi-fetch.ts';

const input: components['schemas']['AuditEventInput'] = event;

export async function journey(key: string, baseUrl: string): Promise<Seen> {
  const headers = { Authorization: `Bearer ${key}` };
  const { GET, POST } = createClient<paths>({ baseUrl, headers });
  const recorded = await POST('/api/audit-logs', { body: input });
  if (!recorded.data) throw new Error(recorded.error.detail);
  const { id, sequence } = recorded.data;
  const read = await GET('/api/audit-logs/{id}', { params: { path: { id } } });
  const query = { action: ['update', 'delete'], limit: 5 };
  const listed = await GET('/api/audit-logs', { params: { query } });
  const missing = await GET('/api/audit-logs/{id}', { params: { path: { id: unknownId } } });
  return {
    recorded: id,
    sequence,
    read: read.data?.actor.email ?? null,
    listed: listed.data?.data.map((each) => each.id) ?? [],
    refused: missing.error?.code ?? '',
  };
}

import { event, type Seen, unknownId } from './event.ts';
import { type AuditEventInput, getEvent, listEvents, recordEvent } from './generated/hey-api';
import { client } from './generated/hey-api/client.gen';

const body: AuditEventInput = event;

/** The address is the document's. */
export async function journey(key: string): Promise<Seen> {
  client.setConfig({ auth: ({ scheme }) => (scheme === 'bearer' ? key : undefined) });
  const { data } = await recordEvent({ body, throwOnError: true });
  const { id, sequence } = data;
  const read = await getEvent({ path: { id } });
  const listed = await listEvents({ query: { action: ['update', 'delete'], limit: 5 } });
  const missing = await getEvent({ path: { id: unknownId } });
  return {
    recorded: id,
    sequence,
    read: read.data?.actor.email ?? null,
    listed: listed.data?.data.map((each) => each.id) ?? [],
    refused: missing.error?.code ?? '',
  };
}

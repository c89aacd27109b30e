import { event, type Seen, unknownId } from './event.ts';
import * as api from './generated/oazapfts';

const input: api.AuditEventInput = event;

/** The address is the document's. */
export async function journey(key: string): Promise<Seen> {
  api.defaults.headers = { Authorization: `Bearer ${key}` };
  const recorded = await api.recordEvent(input);
  if (recorded.status !== 201) throw new Error(`status ${recorded.status}`);
  const { id, sequence } = (recorded as { data: api.RecordedAuditEvent }).data;
  const read = await api.getEvent(id);
  const listed = await api.listEvents({ action: ['update', 'delete'], limit: 5 });
  const missing = await api.getEvent(unknownId);
  return {
    recorded: id,
    sequence,
    read: 'actor' in read.data ? read.data.actor.email : null,
    listed: 'pagination' in listed.data ? listed.data.data.map((each) => each.id) : [],
    refused: 'code' in missing.data ? missing.data.code : '',
  };
}

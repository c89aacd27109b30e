import { uuidFromEventId, uuidTimeMs } from '@indelible/protocol';
import { expect, test } from 'vitest';
import { judgeEvent } from '../event/judge-event.ts';
import { createClient, type EventInput, newEventId } from '../index.ts';
import { RequestAudit } from '../middleware/request-audit.ts';

const minuteMs = 60_000;
const tenantId = '0199c0de-4b1e-7a55-8d37-6c2f90ab1e24';
const event = {
  actor: { id: '7f9c2ba4-e88f-4a1b-9c3d-1f2e3d4c5b6a', role: 'admin' },
  action: 'update',
  resource: { type: 'queue', id: '0b54a1de-6e0f-4c66-a24c-2c4f6f2c7a11' },
} satisfies EventInput;

type Sent = EventInput & { id: string };

/** A client whose service has a clock that is six minutes behind; `stored` is what that records. */
function aheadOfService() {
  const stored: Sent[] = [];
  const calls: Sent[][] = [];
  const outcomeOf = (sent: Sent) => {
    const { refusal } = judgeEvent(sent, { nowMs: nowOfService(), boundTenantId: tenantId });
    if (refusal) return { status: 'rejected', error: refusal };
    stored.push(sent);
    return { status: 'created', id: sent.id };
  };
  const fetch = async (_: unknown, request?: RequestInit) => {
    const sent = JSON.parse(String(request?.body));
    const events: Sent[] = sent.events ?? [sent];
    calls.push(events);
    const results = events.map((each, index) => ({ index, ...outcomeOf(each) }));
    const [first] = results;
    const body = sent.events ? { results } : (first?.error ?? { id: first?.id });
    const status = stored.length > 0 ? 200 : 422;
    const headers = { date: new Date(nowOfService()).toUTCString() };
    return new Response(JSON.stringify(body), { status, headers });
  };
  return { stored, calls, client: createClient({ key: 'idl_test', fetch }) };
}

const nowOfService = () => Date.now() - 6 * minuteMs;
const timeOf = (id: string) => uuidTimeMs(uuidFromEventId(id) ?? '');

test('a host whose clock is six minutes fast records its event once, at the time of the service', async () => {
  const { client, stored } = aheadOfService();
  const { id } = await client.record(event);
  expect(stored.map((each) => each.id)).toEqual([id]);
  expect(Math.abs(timeOf(id) - nowOfService())).toBeLessThan(minuteMs);
});

test('the middleware of a host whose clock is fast returns the id that was recorded', async () => {
  const { client: sink, stored } = aheadOfService();
  const source = { sink, actor: () => event.actor, tenantId: () => tenantId };
  const audit = new RequestAudit(source, { ip: null, userAgent: null, requestId: 'request-1' });
  const id = await audit.record({ action: event.action, resource: event.resource });
  expect(stored.map((each) => each.id)).toEqual([id]);
});

test('a batch sends again only the events that the clock of the host made late, in their places', async () => {
  const { client, stored, calls } = aheadOfService();
  const timed = { ...event, id: newEventId(nowOfService()) };
  const results = await client.recordBatch([event, timed, { ...event, action: 'delete' }]);
  expect(calls.map((each) => each.length)).toEqual([3, 2]);
  expect(results.map(({ index, status }) => [index, status])).toEqual([
    [0, 'created'],
    [1, 'created'],
    [2, 'created'],
  ]);
  expect(stored.map(({ action }) => action)).toEqual(['update', 'update', 'delete']);
  expect(stored[0]?.id).toBe(timed.id);
});

test('an event whose time the caller chose is refused as before, and not sent again', async () => {
  const { client, calls } = aheadOfService();
  const refused = { code: 'timestamp_in_future' };
  await expect(client.record({ ...event, timestamp: new Date() })).rejects.toMatchObject(refused);
  await expect(client.record({ ...event, id: newEventId() })).rejects.toMatchObject(refused);
  expect(calls).toHaveLength(2);
});

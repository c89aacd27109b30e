import { afterAll, beforeEach, expect, test } from 'vitest';
import { pagerduty } from './pagerduty.ts';
import {
  alertOf,
  deniedAgent,
  eventText,
  hostile,
  hostileEvent,
  hugeDiff,
  panelUrl,
} from './testing/event-texts.ts';
import { exchangeOf } from './testing/exchange.ts';
import { pagerdutyReceiver } from './testing/pagerduty-receiver.ts';

const duty = await pagerdutyReceiver();
afterAll(duty.close);
beforeEach(() => duty.incidents.clear());

const exchange = exchangeOf(pagerduty, () => {
  return { url: duty.url, credential: duty.key, options: {} };
});
const { targetOf, health } = exchange;
const deliver = (event: string, changes: object = {}) => exchange.deliver([event], changes);

const incidents = () => [...duty.incidents.values()];

test('alerts of a rule are one incident, which is acknowledged with them', async () => {
  const raised = alertOf('Bulk download');
  for (const sequence of [0, 1]) {
    expect(await deliver(eventText(sequence, raised))).toEqual({ ok: true });
  }
  const link = `${panelUrl}/events/${JSON.parse(eventText(1, raised)).id}`;
  const incident = { summary: 'Alert: “Bulk download”', severity: 'error', alerts: 2, link };
  expect(incidents()).toMatchObject([{ ...incident, status: 'triggered' }]);
  await deliver(eventText(2, { ...raised, action: 'acknowledge' }));
  expect(incidents()).toMatchObject([{ ...incident, status: 'acknowledged' }]);
});

test('another event is an incident of its own, and a repeated message changes nothing', async () => {
  const denied = eventText(0, deniedAgent);
  for (const event of [denied, denied, eventText(1)]) await deliver(event);
  expect(incidents()).toMatchObject([
    { severity: 'warning', summary: expect.stringContaining('(denied)') },
    { severity: 'info', summary: 'Event: “ana@example[.]com update queue Support”' },
  ]);
  await deliver(eventText(2, alertOf('x')), { options: { severity: 'critical' } });
  expect(incidents().at(-1)).toMatchObject({ severity: 'critical' });
});

test('no text of an event holds an address or a line of its own, and the largest event fits', async () => {
  const events = [eventText(0, hostileEvent), eventText(1, alertOf(hostile))];
  for (const event of [...events, eventText(2, { diff: hugeDiff })]) {
    expect(await deliver(event)).toEqual({ ok: true });
  }
  for (const { summary, details } of incidents()) {
    for (const text of [summary, ...Object.values(details)]) {
      expect(text ?? '').not.toMatch(/evil\.example|[\n\r\u2028\u202e]/);
    }
  }
});

test('every event is a message of its own', () => {
  expect(pagerduty.messageBytesMax).toBeLessThan(eventText(0).length);
});

test('a test shows whether PagerDuty knows the key, and opens no incident', async () => {
  expect(await health()).toEqual({ ok: true });
  expect(await health({ credential: 'R'.repeat(32) })).toMatchObject({
    ok: false,
    reason: 'PagerDuty cannot read the message (400): routing_key is unknown',
  });
  expect(incidents()).toEqual([]);
});

test.each(['https://events.pagerduty.com', 'https://events.eu.pagerduty.com/v2/enqueue'])(
  '%s is the address of the Events API',
  (url) => {
    const call = pagerduty.health(targetOf({ url }));
    expect(call.url).toBe(`${new URL(url).origin}/v2/enqueue`);
  },
);

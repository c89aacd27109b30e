import { afterAll, beforeEach, expect, test } from 'vitest';
import { slack } from './slack.ts';
import { alertOf, eventText, hostile, hostileEvent, panelUrl } from './testing/event-texts.ts';
import { exchangeOf } from './testing/exchange.ts';
import { slackReceiver } from './testing/slack-receiver.ts';

const channel = await slackReceiver();
afterAll(channel.close);
beforeEach(() => {
  Object.assign(channel, { messages: [], trouble: null });
});

const { deliver, health } = exchangeOf(slack, () => {
  return { url: channel.url, credential: channel.path, options: {} };
});

const pageOf = (event: string) => `${panelUrl}/events/${JSON.parse(event).id}`;

test('a channel reads who did what and why, with a link to each event', async () => {
  const events = [eventText(0, { reason: 'ticket 7' }), eventText(1, alertOf('Bulk download'))];
  expect(await deliver(events)).toEqual({ ok: true });
  expect(channel.messages).toEqual([
    {
      title: '1 alert and 1 event in the audit log',
      lines: [
        'Event: “ana@example[.]com update queue Support, reason: ticket 7” · Open',
        'Alert: “Bulk download” · Open',
      ],
      links: events.map(pageOf),
      mentions: [],
    },
  ]);
});

test('no text of an event becomes a link, a mention, or a line of its own', async () => {
  const events = [eventText(0, hostileEvent), eventText(1, alertOf(hostile))];
  expect(await deliver(events)).toEqual({ ok: true });
  const [message] = channel.messages;
  expect(message?.links).toEqual(events.map(pageOf));
  expect(message?.mentions).toEqual([]);
  for (const line of message?.lines ?? []) {
    expect(line).toContain('<!channel> <@U012AB3CD>');
    expect(line).not.toMatch(/evil\.example|[\n\r\u2028\u202e]/);
  }
});

test('a full message of the longest texts is one that Slack takes, and it says what it leaves out', async () => {
  const resource = {
    type: 'queue',
    id: '0b54a1de-6e0f-4c66-a24c-2c4f6f2c7a11',
    name: '&'.repeat(200),
  };
  const events = Array.from({ length: 100 }, (_, n) =>
    eventText(n, { resource, reason: '<'.repeat(1_000) }),
  );
  expect(await deliver(events)).toEqual({ ok: true });
  const { title, lines = [], links } = channel.messages[0] ?? {};
  expect(title).toBe('100 events in the audit log');
  expect(lines.length).toBeGreaterThan(5);
  expect(lines.at(-1)).toBe(`and ${100 - (lines.length - 1)} more`);
  expect(links?.at(-1)).toBe(`${panelUrl}/events`);
  await deliver(Array.from({ length: 100 }, (_, n) => eventText(n)));
  expect(channel.messages[1]?.lines).toHaveLength(21);
});

test('the address of the webhook is the credential, whole or as a path; the URL decides the host', async () => {
  const credential = `https://hooks.slack.com${channel.path}`;
  expect(await deliver([eventText(0)], { credential })).toEqual({ ok: true });
});

test('a test is a message that says so', async () => {
  expect(await health()).toEqual({ ok: true });
  expect(channel.messages).toMatchObject([{ title: expect.stringContaining('Test'), lines: [] }]);
});

test.each([
  [404, 'no_service'],
  [404, 'channel_not_found'],
  [410, 'channel_is_archived'],
  [403, 'invalid_token'],
  [400, 'invalid_payload'],
  [429, 'rate_limited'],
  [500, 'rollup_error'],
])('Slack that answers %d %s is a failure with its words', async (status, word) => {
  channel.trouble = { status, word };
  const reason = expect.stringContaining('Slack');
  expect(await deliver([eventText(0)])).toEqual({ ok: false, reason });
});

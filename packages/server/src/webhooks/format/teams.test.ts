import { afterAll, beforeEach, expect, test } from 'vitest';
import { teams } from './teams.ts';
import { alertOf, eventText, hostile, hostileEvent, panelUrl } from './testing/event-texts.ts';
import { exchangeOf } from './testing/exchange.ts';
import { teamsReceiver } from './testing/teams-receiver.ts';

const channel = await teamsReceiver();
afterAll(channel.close);
beforeEach(() => Object.assign(channel, { cards: [] }));

const { targetOf, deliver, health } = exchangeOf(teams, () => {
  const { url, path, signature } = channel;
  return { url: `${url}${path}?api-version=1`, credential: signature, options: {} };
});

const pageOf = (event: string) => `${panelUrl}/events/${JSON.parse(event).id}`;

test('a card shows who did what and why, with a link to each event', async () => {
  const events = [eventText(0, { reason: 'ticket 7' }), eventText(1, alertOf('Bulk download'))];
  expect(await deliver(events)).toEqual({ ok: true });
  expect(channel.cards).toEqual([
    {
      markdown: ['1 alert and 1 event in the audit log'],
      lines: [
        'Event: “ana@example[.]com update queue Support, reason: ticket 7” · Open',
        'Alert: “Bulk download” · Open',
      ],
      links: [...events.map(pageOf), `${panelUrl}/events`],
    },
  ]);
});

test('no text of an event stands where Markdown is read, and none is a link or a line of its own', async () => {
  const events = [eventText(0, hostileEvent), eventText(1, alertOf(hostile))];
  expect(await deliver(events)).toEqual({ ok: true });
  const [card] = channel.cards;
  expect(card?.markdown).toEqual(['1 alert and 1 event in the audit log']);
  expect(card?.links).toEqual([...events.map(pageOf), `${panelUrl}/events`]);
  for (const line of card?.lines ?? [])
    expect(line).not.toMatch(/evil\.example|[\n\r\u2028\u202e]/);
});

test('a full message of the longest texts is one that Teams takes, and it says what it leaves out', async () => {
  const resource = {
    type: 'queue',
    id: '0b54a1de-6e0f-4c66-a24c-2c4f6f2c7a11',
    name: '😀'.repeat(100),
  };
  const events = Array.from({ length: 100 }, (_, n) =>
    eventText(n, { resource, reason: '漢'.repeat(1_000) }),
  );
  expect(await deliver(events)).toEqual({ ok: true });
  const { lines = [], markdown } = channel.cards[0] ?? {};
  expect(lines.length).toBeGreaterThan(5);
  expect(markdown).toEqual(['100 events in the audit log', `and ${100 - lines.length} more`]);
});

test('the signature is the credential, and an address that still holds it is refused', async () => {
  expect(teams.urlProblem(`${targetOf().url}&sig=abc`)).toContain('send it as the credential');
  const credential = 'another-signature';
  expect(await deliver([eventText(0)], { credential })).toMatchObject({ ok: false });
});

test('a test is a card that says so', async () => {
  expect(await health()).toEqual({ ok: true });
  expect(channel.cards).toEqual([
    { markdown: [expect.stringContaining('Test')], lines: [], links: [] },
  ]);
});

import { batchEventsMax, parseStrictJson } from '@indelible/protocol';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { splitBatch } from './batch-body.ts';

const split = (text: string) => {
  const { events, names } = splitBatch(Buffer.from(text));
  return { names, events: events?.map((bytes) => parseStrictJson(bytes).value) };
};

/** Whether events are taken from the text; an envelope that is no batch is refused later. */
function isTaken(text: string): boolean {
  try {
    const { events, names } = split(text);
    return names.join() === 'events' && events !== undefined;
  } catch (error) {
    expect(error).toBeInstanceOf(SyntaxError);
    return false;
  }
}

/** What the whole text says; null if it is no JSON. */
function whole(text: string): { events?: unknown } | null {
  try {
    return parseStrictJson(text).value as { events?: unknown };
  } catch {
    return null;
  }
}

const gap = fc.constantFrom('', ' ', '\n\t');
const batch = fc.tuple(fc.array(fc.jsonValue({ maxDepth: 3 })), gap).map(([events, space]) => {
  const texts = events.map((each) => `${space}${JSON.stringify(each)}${space}`);
  return `${space}{${space}"events"${space}:${space}[${texts}]${space}}${space}`;
});

test('the events of a batch are those of its whole text, and a damaged batch is read no more', () => {
  const damage = fc
    .tuple(batch, fc.nat(), fc.constantFrom('', ...'[]{},:"\\ 1x\u0001'))
    .map(([text, at, character]) => {
      const position = at % text.length;
      return text.slice(0, position) + character + text.slice(position + 1);
    });
  const same = fc.property(fc.oneof(batch, damage), (text) => {
    const expected = whole(text);
    if (expected === null) {
      expect(isTaken(text)).toBe(false);
      return;
    }
    const { events, names } = split(text);
    if (names.join() !== 'events') return; // refused for its other members
    expect(events).toEqual(Array.isArray(expected.events) ? expected.events : undefined);
  });
  fc.assert(same, { examples: [[' { "events" :x[] } ']] });
});

test('a batch is read to event 1,001, however long it is', () => {
  const text = `{"events":[${'{},'.repeat(5_000)}no JSON`;
  expect(splitBatch(Buffer.from(text)).events).toHaveLength(batchEventsMax + 1);
});

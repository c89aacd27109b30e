import { canonicalize, eventWords, mayBeJoined } from '@indelible/protocol';
import { turnsOf } from '@indelible/testing/longest-turn';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { givingWay } from '../http/giving-way.ts';
import { type BlockFields, blockWords, blockWordsInTurns, foldedTexts } from './block-words.ts';

function eventOf(texts: readonly string[], changes: [string, string][] = []): BlockFields {
  const [resourceName = null, reason = null, metadata = ''] = texts;
  const diff = Object.fromEntries(changes.map(([key, to]) => [key, { from: null, to }]));
  return {
    actorId: '',
    action: '',
    resourceType: '',
    resourceId: '',
    category: '',
    actorRole: '',
    actorEmail: null,
    actorIp: null,
    resourceName,
    reason,
    diff: canonicalize(diff),
    context: canonicalize({ metadata: { metadata } }),
    contextIdentity: null,
  };
}

const texts = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc.stringMatching(/^[ -~\t\n\\"]*$/),
  fc.string({ unit: 'binary', maxLength: 1_100 }),
);

test('each word of an event is a part of its folded texts', () => {
  const changes = fc.array(fc.tuple(texts, texts), { maxLength: 3 });
  fc.assert(
    fc.property(fc.array(texts, { minLength: 3, maxLength: 3 }), changes, (some, diff) => {
      const event = eventOf(some, diff);
      const folded = foldedTexts(event);
      for (const word of eventWords(event)) if (!mayBeJoined(word)) expect(folded).toContain(word);
    }),
  );
});

test('folding the texts of a large event takes a small part of the time of its words', () => {
  const text = (n: number) => Array.from({ length: 100 }, (_, word) => `${n}x${word}`).join(' ');
  const event = eventOf(
    [],
    Array.from({ length: 400 }, (_, n) => [`f${n}`, text(n)]),
  );
  const processorTime = (work: () => unknown) => {
    for (let n = 0; n < 3; n++) work();
    const before = process.cpuUsage();
    for (let n = 0; n < 5; n++) work();
    return process.cpuUsage(before).user;
  };
  const words = processorTime(() => blockWords(event));
  expect(processorTime(() => foldedTexts(event))).toBeLessThan(words / 3);
});

test('while the words of one event are made, others go on, and they are the same words', async () => {
  const event = eventOf(
    [],
    Array.from({ length: 500 }, (_, n) => [`f${n}`, 'ﷺ'.repeat(390)]),
  );
  let words = new Set<string>();
  const { total, longest } = await turnsOf(async () => {
    words = await blockWordsInTurns(event, givingWay());
  });
  expect(longest).toBeLessThan(total / 2);
  expect(words).toEqual(blockWords(event));
});

import { expect, test } from 'vitest';
import { plainEvent } from '../testing/recorded-log.ts';
import { eventFields, segmentNames } from './event-fields.ts';
import { eventText, segmentTexts } from './event-texts.ts';

/** The paths of an object's members, those of inner objects dotted, in its order. */
function pathsOf(text: string): string[] {
  const inner = ['actor', 'resource', 'recordedBy'];
  return Object.entries(JSON.parse(text)).flatMap(([name, value]) =>
    inner.includes(name) ? Object.keys(value as object).map((each) => `${name}.${each}`) : [name],
  );
}

const event = plainEvent(0, { before: '{"a":1}', after: '{"a":2}' });
const stored = { ...event, sequence: 7, receivedAtMs: 0 };

test('the text that is shown has the fields of the table, in its order', () => {
  const paths = eventFields.map(({ path }) => path);
  expect(pathsOf(eventText(stored, true, true))).toEqual(paths);
  const withoutStates = paths.filter((path) => path !== 'before' && path !== 'after');
  expect(pathsOf(eventText(stored, false, true))).toEqual(withoutStates);
  expect(JSON.parse(eventText(stored, false, true, ['state'])).erased).toEqual(['state']);
});

test('the texts that are hashed have the fields of their segment, sorted', () => {
  const texts = segmentTexts(event);
  for (const [index, name] of segmentNames.entries()) {
    const fields = eventFields.filter(({ segment }) => segment === name);
    expect(pathsOf(texts[index] ?? '')).toEqual(fields.map(({ path }) => path).sort());
  }
});

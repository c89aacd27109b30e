import { expect, test } from 'vitest';
import { everyContext, plainEvent } from '../testing/recorded-log.ts';
import { contextOf, contextTexts } from './context.ts';
import { type EventField, eventFields, segmentNames } from './event-fields.ts';
import { eventText, segmentTexts } from './event-texts.ts';

/** The paths of an object's members, those of inner objects dotted, in its order. */
function pathsOf(text: string): string[] {
  const inner = ['actor', 'resource', 'recordedBy'];
  return Object.entries(JSON.parse(text)).flatMap(([name, value]) =>
    inner.includes(name) ? Object.keys(value as object).map((each) => `${name}.${each}`) : [name],
  );
}

const states = { before: '{"a":1}', after: '{"a":2}' };
const first = plainEvent(0, states);
const second = plainEvent(0, { ...states, ...contextTexts(everyContext) });
const stored = { ...second, sequence: 7, receivedAtMs: 0 };

test('the text that is shown has the fields of the table, in its order', () => {
  const paths = eventFields.map(({ path }) => path);
  expect(pathsOf(eventText(stored, true, true))).toEqual(paths);
  const withoutStates = paths.filter((path) => path !== 'before' && path !== 'after');
  expect(pathsOf(eventText(stored, false, true))).toEqual(withoutStates);
  expect(JSON.parse(eventText(stored, false, true, ['state'])).erased).toEqual(['state']);
});

test('an event of version 1 is shown without any field of version 2', () => {
  const paths = eventFields.filter(({ since }) => since !== 2).map(({ path }) => path);
  expect(pathsOf(eventText({ ...stored, ...first }, true, true))).toEqual(paths);
});

test('the texts that are hashed have the fields of their segment, sorted', () => {
  const isIn = ({ segment, members = {} }: EventField, name: string) =>
    segment === name || Object.values(members).some((member) => member.segment === name);
  for (const [event, version] of [[first, 1] as const, [second, 2] as const]) {
    const texts = segmentTexts(event);
    for (const [index, name] of segmentNames.entries()) {
      const fields = eventFields.filter(
        (field) => isIn(field, name) && (field.since ?? 1) <= version,
      );
      const paths = fields.map(({ path }) => path).sort();
      expect(texts[index] === null ? [] : pathsOf(texts[index] ?? '')).toEqual(paths);
    }
  }
});

test('personal values are only in the identity, and both texts give the whole again', () => {
  const { context, contextIdentity } = contextTexts(everyContext);
  for (const text of ['Assistant', 'bot_7', 'queue-77', 'user_123', 'ana@', 'Ana', '+1', 'Main']) {
    expect(context).not.toContain(text);
    expect(contextIdentity).toContain(text);
  }
  expect(contextOf({ context, contextIdentity })).toEqual(everyContext);
  expect(contextOf({ context, contextIdentity: null }).onBehalfOf).toEqual([
    { id: everyContext.onBehalfOf[0].id, type: 'user', role: 'Org Owner' },
    { id: everyContext.onBehalfOf[1].id },
  ]);
});

import { type FieldProblem, takeEvent } from '@indelible/protocol';
import { eventArbitrary, spoiltEventArbitrary } from '@indelible/testing/arbitraries';
import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { eventOf, takeContext } from '../../../protocol/src/testing/take-context.ts';
import { fieldProblem, formats } from '../http/json-schema.ts';
import { EventInput } from './schemas.ts';

const ajv = new Ajv2020({
  allErrors: true,
  strict: true,
  strictRequired: false,
  allowUnionTypes: true,
  formats,
});
const validate = ajv.compile<unknown>(EventInput);

const words = (problems: readonly FieldProblem[]) =>
  [...new Set(problems.map(({ path, code }) => `${path} ${code}`))].sort();

// Of an id, an external id or an address, Ajv misses each, and says so of their object as well.
const isSecondChoice = ({ keyword, schemaPath }: ErrorObject) =>
  keyword === 'anyOf' || /\/anyOf\/([12]\/|0\/properties)/.test(schemaPath);

const ofSchema = (event: unknown) => {
  if (validate(event)) return [];
  const errors = (validate.errors ?? []).filter((error) => !isSecondChoice(error));
  return words(errors.map(fieldProblem));
};

const jsonCodes = [...['null_character', 'lone_surrogate', 'too_deep']];
const shapeCodes = ['required', 'unknown_field', 'too_long', 'too_short', 'too_many'];
const ofService = (event: unknown) => {
  const { refusal } = takeEvent(event, takeContext());
  const isShape = ({ code }: FieldProblem) => /^invalid_/.test(code) || shapeCodes.includes(code);
  return words((refusal?.errors ?? []).filter(isShape));
};

test('the document admits what the service takes, and refuses what it refuses, with its words', () => {
  fc.assert(
    fc.property(eventArbitrary, (event) => {
      expect(ofSchema(event)).toEqual([]);
    }),
  );
  fc.assert(
    fc.property(spoiltEventArbitrary, (sent) => {
      const event = JSON.parse(JSON.stringify(sent));
      const problems = takeEvent(event, takeContext()).refusal?.errors ?? [];
      fc.pre(!problems.some(({ code }) => jsonCodes.includes(code)));
      // Null and an empty text are taken for absent where they may be.
      fc.pre(!/:""|"id":null/.test(JSON.stringify(event)));
      // The service names members with characters that cannot be stored by signs.
      fc.pre(!/\\u0000|\\ud[89a-f]/i.test(JSON.stringify(event)));
      expect(ofService(event)).toEqual(ofSchema(event));
    }),
    { numRuns: 500 },
  );
});

const actor = (changes: object) => ({ actor: { ...(eventOf().actor as object), ...changes } });
const resource = (changes: object) => ({
  resource: { ...(eventOf().resource as object), ...changes },
});

test.each<[string, Record<string, unknown>]>([
  ['an unknown member', { requestId: 'x' }],
  ['a long reason', { reason: 'x'.repeat(1_001) }],
  ['a long name', resource({ name: 'x'.repeat(201) })],
  ['1,000 characters beyond the basic plane', { reason: '𝒳'.repeat(1_000) }],
  ['a role with a line break', actor({ role: 'org\nowner' })],
  ['a blank name', actor({ name: ' \u200b' })],
  ['a blank name of a person', { onBehalfOf: [{ externalId: 'x', name: '\u3164' }] }],
  ['a role of a character that is none yet', actor({ role: '\u{D7FC}' })],
  ['an own id that begins with a space', actor({ externalId: ' user_1' })],
  ['an actor without any id', actor({ id: undefined })],
  ['an outcome of no kind', { outcome: 'maybe' }],
  ['a trace id that is too short', { traceId: 'abc' }],
  ['a way without a channel', { via: { tool: 'x' } }],
  ['five people', { onBehalfOf: Array.from({ length: 5 }, () => ({ externalId: 'x' })) }],
  ['a person without an id', { onBehalfOf: [{ name: 'Ana' }] }],
  ['a target without a type', { targets: [{ externalId: 'x' }] }],
  ['metadata with an object', { metadata: { a: {} } }],
  ['a source without a sequence', { source: { id: 'app' } }],
  ['an empty role', actor({ role: '' })],
  ['a role that is too long', actor({ role: 'r'.repeat(65) })],
  ['an e-mail address of 321 characters', actor({ email: `${'a'.repeat(315)}@ex.io` })],
  ['an e-mail address with a mark in front', actor({ email: '!ana@example.com' })],
  ['an address with a zone', actor({ ip: 'fe80::1%eth0' })],
  ['an action that is too long', { action: 'u'.repeat(65) }],
  ['a change of objects', { diff: { a: { from: {}, to: [] } } }],
  ['a change without a side', { diff: { a: { from: 1 } } }],
  ['an id of another kind', { id: 'evt_audit_01k47h5550fb39eqm1pvbfw85' }],
  ['no moment', { timestamp: 'yesterday' }],
  ['no tenant', { tenantId: '!acme' }],
])('document and service agree about %s', (_, changes) => {
  expect(ofService(eventOf(changes))).toEqual(ofSchema(eventOf(changes)));
});

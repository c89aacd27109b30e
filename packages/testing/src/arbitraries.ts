import fc from 'fast-check';
import { anyCharacter } from '../../protocol/src/testing/any-character.ts';

/*
 * Events as producers may send them: valid and canonical (lower-case UUIDs, RFC 5952 addresses, no
 * secrets), so that a read must return exactly what was sent.
 */

/**
 * For a random comparison whose every run asks a service or a verifier. Each run of the tests has
 * another seed, so that few at once find what many would, some days later.
 */
export const costlyRuns = { numRuns: 15 };

/** Any Unicode text without U+0000 and lone surrogates: control characters, emoji, RTL marks. */
export const textArbitrary = (maxLength: number): fc.Arbitrary<string> =>
  fc
    .oneof(
      fc.string({ unit: anyCharacter, maxLength }),
      fc.constantFrom(...hostileTexts).map((text) => text.slice(0, maxLength)),
    )
    .map((text) => text.replaceAll('\0', ''));

/** Texts with special meaning in SQL, headers, HTML, JSON, arrays, spreadsheets or logs. */
export const hostileTexts: readonly string[] = [
  "'; DROP TABLE audit_events; --",
  `" OR 1=1 /* \\`,
  "E'\\x41' || pg_sleep(9)",
  '{NULL,"a",{}}',
  'NULL',
  '\\N\t\\.',
  '$1 %s %n {jndi:ldap://x}',
  'name\r\nX-Injected: a=b\r\n\r\n<script>',
  '<img src=x onerror=alert(1)>',
  '=HYPERLINK("http://x")',
  '\u001b[2J\u0007',
  '\u202egnp.exe',
  '\u2028\u2029\ufeff',
  '"}],"actor":{"role":"superadmin"}',
];

const uuid = fc.uuid();
const role = fc.oneof(
  fc.constantFrom('admin', 'superadmin', 'api_key', 'agent', 'Chef-Ärztin', '管理者'),
  fc.stringMatching(/^[!-~]{1,64}$/),
);
const snakeCase = fc.stringMatching(/^[a-z][a-z0-9]{0,20}(_[a-z0-9]{1,20}){0,2}$/);
const email = fc
  .tuple(fc.stringMatching(/^[!#-?A-~\u00c0-\u024f]{1,40}$/), fc.domain())
  .map(([local, domain]) => `${local.replaceAll('@', '')}x@${domain}`);
const ip = fc.oneof(
  fc.ipV4(),
  fc.constantFrom('::', '::1', '2001:db8::1', 'fe80::1:0:0:1', '64:ff9b::1', '1:2:3:4:5:6:7:8'),
);

const number = fc.oneof(
  fc.maxSafeInteger(),
  fc
    .double({ noNaN: true, noDefaultInfinity: true })
    .filter((value) => !Number.isInteger(value) || Number.isSafeInteger(value)),
);
const scalarArbitrary = fc.oneof(textArbitrary(40), number, fc.boolean(), fc.constant(null));

// A random name holds a word of secrets too rarely to matter.
const memberName = fc.oneof(
  { weight: 5, arbitrary: textArbitrary(12).map((name) => `${name.replaceAll('.', '')}~`) },
  {
    weight: 1,
    arbitrary: fc.constantFrom('__proto__', 'constructor', 'toString', '', 'a\nb', '0'),
  },
);

/** A JSON object of up to a few levels, as states are. */
const stateArbitrary = fc.letrec<{ value: unknown; object: Record<string, unknown> }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    scalarArbitrary,
    fc.array(tie('value'), { maxLength: 4 }),
    tie('object'),
  ),
  object: fc.dictionary(memberName, tie('value'), { maxKeys: 5 }),
})).object;

const diffArbitrary = fc.dictionary(
  memberName,
  fc.record({ from: scalarArbitrary, to: scalarArbitrary }),
  { maxKeys: 6 },
);

/** An event with every field, in the form in which it is read again. */
export const eventArbitrary = fc.record({
  actor: fc.record({
    id: uuid,
    email: fc.option(email),
    role,
    ip: fc.option(ip),
    userAgent: fc.option(textArbitrary(80).filter((text) => text !== '')),
  }),
  action: snakeCase,
  resource: fc.record({
    type: snakeCase.filter((word) => word !== 'call'),
    id: uuid,
    name: fc.option(textArbitrary(60).filter((text) => text !== '')),
  }),
  diff: diffArbitrary,
  reason: fc.option(textArbitrary(100).filter((text) => text !== '')),
  before: fc.option(stateArbitrary),
  after: fc.option(stateArbitrary),
});

/** A valid event in which one member, at any depth, was replaced or removed. */
export const spoiltEventArbitrary = fc
  .tuple(
    eventArbitrary,
    fc.nat(),
    fc.option(fc.jsonValue({ stringUnit: anyCharacter }), { nil: undefined }),
  )
  .map(([event, choice, value]) => {
    const copy = structuredClone(event) as Record<string, unknown>;
    const members = membersOf({ ...copy, timestamp: 1, id: 1, tenantId: 1, crossTenant: 1 }, copy);
    const [owner, name] = members[choice % members.length] ?? [copy, 'actor'];
    Object.defineProperty(owner, name, {
      value,
      enumerable: true,
      configurable: true,
      writable: true,
    });
    return copy;
  });

function membersOf(names: object, owner: object): [owner: object, name: string][] {
  return Object.keys(names).flatMap((name) => {
    const member: unknown = Object.getOwnPropertyDescriptor(owner, name)?.value;
    const below = typeof member === 'object' && member !== null ? membersOf(member, member) : [];
    return [[owner, name], ...below];
  });
}

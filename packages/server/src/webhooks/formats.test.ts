import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { beforeEach, expect, test } from 'vitest';
import {
  batchOf,
  deniedAgent,
  eventText,
  eventTextsArbitrary,
  hugeDiff,
  parsed,
  startMs,
  tenantId,
} from './format/testing/event-texts.ts';
import { exchangeOf } from './format/testing/exchange.ts';
import { type Product, startProducts } from './format/testing/products.ts';
import { formats } from './formats.ts';

const guide = readFileSync(join(import.meta.dirname, '../../../../docs/streaming.md'), 'utf8');
type StreamName = Exclude<keyof typeof formats, 'webhook'>;
const titles: Record<StreamName, string> = {
  splunk_hec: 'Splunk',
  datadog: 'Datadog',
  elastic: 'Elastic and OpenSearch',
  generic: 'Other receivers',
  slack: 'Slack',
  teams: 'Microsoft Teams',
  pagerduty: 'PagerDuty',
};
const names = Object.keys(titles) as StreamName[];

/**
 * The rows of a table of the format's section, by its
 * first column's heading: cells of backticked words.
 */
function rows(name: StreamName, heading: string): Map<string, string> {
  const section = guide.split(`\n## ${titles[name]}\n`)[1]?.split('\n## ')[0] ?? '';
  const table = section.split(`| ${heading} |`)[1]?.split('\n\n')[0] ?? '';
  const found = [...table.matchAll(/^\| (`[^|]+`) \| ([^|]*)/gm)];
  return new Map(
    found.flatMap(([, cell = '', next = '']) =>
      [...cell.matchAll(/`([^`]+)`/g)].map(([, word = '']) => [word, next.trim()] as const),
    ),
  );
}

test.each(names)('every option of %s is documented, and no other', (name) => {
  const documented = [...rows(name, 'Option').keys()];
  expect(documented.sort()).toEqual(Object.keys(formats[name].options).sort());
});

test.each(names)('every default of %s that is documented is one that its check accepts', (name) => {
  for (const [option, cell] of rows(name, 'Option')) {
    const [, value] = /^`([^`]+)`$/.exec(cell) ?? [];
    if (value !== undefined) expect(formats[name].options[option]?.(value)).toBeNull();
  }
});

const options = {
  splunk_hec: { host: 'a', source: 'b', sourcetype: 'c', index: 'd' },
  datadog: { ddsource: 'a', ddtags: 'b', hostname: 'c', service: 'd' },
  elastic: { index: 'a' },
  generic: {},
};

/** What a format makes of one event that has everything, as the product reads it. */
function sent(name: keyof typeof options): Record<string, unknown> {
  const target = { url: 'https://a.example', credential: 'abc', options: options[name] };
  const person = { id: tenantId, email: 'ana@example.com', name: 'Ana', role: 'admin' };
  const context = { ...deniedAgent.context, onBehalfOf: [person] };
  const event = eventText(0, { action: 'login', reason: 'because', context });
  const { body } = formats[name].deliver(target, batchOf([event]));
  const [first = '', second] = body.trim().split('\n');
  if (second === undefined) return [JSON.parse(first)].flat()[0];
  const { create } = JSON.parse(first);
  return { _id: create._id, ...JSON.parse(second) };
}

function leaves(value: unknown, path: string): string[] {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  if (!isObject || path === 'indelible') return [path];
  return Object.entries(value).flatMap(([name, each]) =>
    leaves(each, path === '' ? name : `${path}.${name}`),
  );
}

test.each(['datadog', 'elastic'] as const)(
  'every field sent to %s is documented, and no other',
  (name) => {
    expect([...rows(name, 'Field').keys()].sort()).toEqual(leaves(sent(name), '').sort());
  },
);

test('every field of the envelope sent to Splunk is documented, and no other', () => {
  expect([...rows('splunk_hec', 'Field').keys()].sort()).toEqual(
    Object.keys(sent('splunk_hec')).sort(),
  );
});

test('the documented sizes of messages are the ones that are kept to', () => {
  for (const name of names) {
    const label = name === 'generic' ? name : titles[name].split(' and ')[0];
    const row = new RegExp(`^\\| ${label} \\| (\\d+) \\| (?:(\\d) MB )?\\|`, 'm').exec(guide);
    const [, events, megabytes] = row ?? [];
    const { messageBytesMax } = formats[name];
    if (events === '1') expect(messageBytesMax, name).toBe(1);
    else expect([events, messageBytesMax], name).toEqual(['100', Number(megabytes) * 1_000_000]);
  }
});

/** Answers that look like those of the products, and any others. */
const answers = fc.oneof(
  fc.string(),
  fc.json(),
  fc
    .record({ code: fc.jsonValue(), 'invalid-event-number': fc.jsonValue() })
    .map((answer) => JSON.stringify(answer)),
  fc
    .record({ errors: fc.jsonValue(), error: fc.jsonValue(), valid: fc.jsonValue() })
    .map((answer) => JSON.stringify(answer)),
  fc
    .record({
      errors: fc.constant(true),
      items: fc.array(fc.oneof(fc.jsonValue(), fc.record({ create: fc.jsonValue() }))),
    })
    .map((answer) => JSON.stringify(answer)),
);

test.each(names)(
  '%s: whatever is answered, there is a verdict, and no failure without a reason',
  (name) => {
    const { judge, judgeHealth = judge } = formats[name];
    fc.assert(
      fc.property(fc.integer({ min: 100, max: 599 }), answers, (status, text) => {
        for (const verdict of [judge(status, text), judgeHealth(status, text)]) {
          if (verdict.ok) expect(status).toBeLessThan(404);
          else expect(verdict.reason).toMatch(/^[^\p{Cc}\u2028\u2029]{10,700}$/u);
        }
      }),
      { numRuns: 500 },
    );
  },
);

const products = await startProducts(() => startMs + 60_000);
const { dog, collector, duty, teams, collectors, channels } = products;
beforeEach(() => {
  for (const { clear } of collectors) clear();
});

const [, datadog, , generic] = collectors;
const lists = [...collectors, { ...generic, options: { body: 'array' } }];
const exchangeWith = ({ format, receiver, ...target }: Product) =>
  exchangeOf(formats[format], () => ({ url: receiver.url, ...target }));

test.each(lists)('$format ($options) holds each event whole and in order', async (product) => {
  const events = [eventText(0), eventText(1, { diff: hugeDiff }), eventText(2)];
  expect(await exchangeWith(product).deliver(events)).toEqual({ ok: true });
  expect(product.held()).toEqual(parsed(events));
});

test.each(lists)(
  'an event with any content arrives in $format ($options) as it was recorded',
  async (product) => {
    const { deliver } = exchangeWith(product);
    await fc.assert(
      fc.asyncProperty(eventTextsArbitrary, async (events) => {
        product.clear();
        expect(await deliver(events)).toEqual({ ok: true });
        expect(product.held()).toEqual(parsed(events));
      }),
    );
  },
);

test.each([
  { product: datadog, state: dog, words: /^Datadog .*\(?\d{3}\)?: Try later$/ },
  { product: generic, state: collector, words: /^the receiver .*: not now$/ },
  { product: channels[1], state: teams, words: /^Teams .*: Trouble was the reason$/ },
  { product: channels[2], state: duty, words: /^PagerDuty .*: try later$/ },
])(
  '$product.format: any trouble is a failure with its words, and passes',
  async ({ product, state, words }) => {
    const { deliver } = exchangeWith(product);
    for (const status of [400, 404, 408, 413, 429, 500, 502, 503]) {
      state.trouble = status;
      const reason = expect.stringMatching(words);
      expect(await deliver([eventText(0)])).toEqual({ ok: false, reason });
    }
    state.trouble = null;
    expect(await deliver([eventText(0)])).toEqual({ ok: true });
  },
);

const long = 'x'.repeat(4_097);
const unfit: Record<StreamName, string[]> = {
  splunk_hec: ['a\r\nX-Evil: 1', 'a\nb', 'Splunk abc', 'a b', '', ' a', 'é'],
  datadog: ['a\r\nX-Evil: 1', 'a b', ''],
  elastic: ['a:b\r\nX-Evil: 1'],
  generic: ['Bearer a\r\nX-Evil: 1', 'a\u0000', 'ü', '', long],
  slack: ['xoxb-123', 'https://hooks.slack.com', '/services/a b', '//evil.example/x?y'],
  teams: ['a b', 'a&b=c', '', 'abc%zz', 'abc%', 'abc%ff'],
  pagerduty: ['short', '"'.padEnd(20, 'a'), ''],
};

test.each(names)('%s: an unfit credential is refused, and never becomes part of a call', (name) => {
  const { credentialProblem, deliver, health } = formats[name];
  for (const credential of unfit[name]) {
    expect(credentialProblem(credential), credential).toEqual(expect.any(String));
    const target = { url: 'https://a.example', credential, options: {} };
    const batch = batchOf([eventText(0)]);
    for (const call of [() => deliver(target, batch), () => health(target, batch, tenantId)]) {
      expect(call, credential).toThrow(RangeError);
    }
  }
});

test.each([
  ['splunk_hec', 'index', ['Audit'], ['audit_eu-1']],
  ['splunk_hec', 'host', ['a\nb', 'a'.repeat(256), ''], ['eu-1']],
  ['datadog', 'ddtags', ['env:prod, team:sec', '1a'], ['env:prod,équipe:sécurité']],
  ['datadog', 'diff', ['both'], ['object', 'text']],
  ['elastic', 'index', ['Audit', '-a', '_a', '.', 'a b', 'a/b', 'a*', 'a,b'], ['audit']],
  ['elastic', 'index', ['a:b', '', 'é'.repeat(256)], ['logs-indelible.audit-eu', 'audit-2025.09']],
  ['elastic', 'diff', ['flat'], ['text', 'object']],
] as const)('%s: the option %s is refused when it is unfit', (name, option, wrong, right) => {
  const check = formats[name].options[option];
  for (const value of wrong) expect(check?.(value), value).toEqual(expect.any(String));
  for (const value of right) expect(check?.(value), value).toBeNull();
});

const refusedItem = (status: number, type: string) =>
  `{"errors":true,"items":[{"create":{"_id":"a","status":${status},"error":{"type":"${type}"}}}]}`;
const page = '<html>Welcome</html>';
const answered: Record<StreamName, [status: number, text: string, ok?: true][]> = {
  splunk_hec: [
    [200, '{"text":"HEC queue is approaching its capacity limit","code":24}', true],
    ...(
      [
        [500, 8],
        [429, 26],
        [400, 6],
        [200, 99],
      ] as const
    ).map(([status, code]): [number, string] => [status, `{"text":"Some words","code":${code}}`]),
    [503, '<html>no healthy upstream</html>'],
    [302, ''],
  ],
  datadog: [
    [204, ''],
    [500, '{"errors":[7]}'],
  ],
  elastic: [
    [200, refusedItem(503, 'unavailable_shards_exception')],
    [200, refusedItem(404, 'index_not_found_exception')],
    [200, '{"errors":true,"items":[{"create":{"_id":"a","sta'],
    [200, '{"took":1,"ingest_took":2}'],
    [200, '{"errors":true,"items":[]}'],
    [429, '{"error":{"type":"circuit_breaking_exception","reason":"Data too large"}}'],
    [413, ''],
    [503, '{"error":"no master"}'],
    [400, '{"error":{"type":"illegal_argument_exception","reason":"bad"}}'],
  ],
  generic: [[307, '']],
  slack: [[200, page]],
  teams: [[200, page]],
  pagerduty: [[200, 'ok']],
};

test.each(names)(
  '%s: only an answer of the product itself, which says so, is a success',
  (name) => {
    const { judge } = formats[name];
    for (const [status, text, ok = false] of answered[name]) {
      expect(judge(status, text), `${status} ${text}`).toMatchObject({ ok });
    }
  },
);

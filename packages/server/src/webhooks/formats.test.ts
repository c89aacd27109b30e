import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { batchOf, deniedAgent, eventText, tenantId } from './format/testing/event-texts.ts';
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

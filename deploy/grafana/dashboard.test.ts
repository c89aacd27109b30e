import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { busyService, metricsToken } from '../testing/busy-service.ts';
import { dashboardQueries } from '../testing/queries.ts';

/* What the dashboard and the rules ask for, against a scrape of a service. */

const { service, close } = await busyService();
afterAll(close);

/** The metrics of a scrape, each with the labels of its series; Prometheus adds two. */
async function scraped(): Promise<Map<string, Set<string>>> {
  const { text } = await service.call({ url: '/metrics', key: metricsToken });
  const metrics = new Map<string, Set<string>>();
  for (const [, name = '', labels = ''] of text.matchAll(/^(\w+)(?:\{(.*)\})? \S+$/gm)) {
    const known = metrics.get(name) ?? new Set(['job', 'instance']);
    for (const [, label = ''] of labels.matchAll(/(\w+)="/g)) known.add(label);
    metrics.set(name, known);
  }
  return metrics;
}

/** The metrics of a query, each with the labels it must have. */
function asked(query: string): { name: string; labels: string[] }[] {
  const grouped = [...query.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, by = '']) =>
    by.split(',').map((label) => label.trim()),
  );
  return [...query.matchAll(/\b((?:indelible|process|nodejs)_\w+)(?:\{([^}]*)\})?/g)].map(
    ([, name = '', matchers = '']) => ({
      name,
      labels: [
        ...[...matchers.matchAll(/(\w+)(?:=|!)/g)].map(([, label = '']) => label),
        ...grouped,
      ],
    }),
  );
}

const rules = readFileSync(join(import.meta.dirname, '../prometheus/rules.yaml'), 'utf8');
const ruleQueries = rules
  .split('- alert: ')
  .slice(1)
  .map((rule) => ({ title: rule.split('\n', 1)[0] ?? '', query: rule.split('labels:')[0] ?? '' }));

test('every metric and label that dashboard and rules ask for is one that the service shows', async () => {
  const metrics = await scraped();
  const queries = [...dashboardQueries(), ...ruleQueries];
  expect(queries.length).toBeGreaterThan(50);
  const wrong = queries.flatMap(({ title, query }) =>
    asked(query).flatMap(({ name, labels }) => {
      const known = metrics.get(name);
      if (known === undefined) return [`${title}: ${name}`];
      return labels
        .filter((label) => !known.has(label))
        .map((label) => `${title}: ${name}.${label}`);
    }),
  );
  expect(wrong).toEqual([]);
});

test('the dashboard shows every metric of the service', async () => {
  const own = [...(await scraped()).keys()].filter((name) => name.startsWith('indelible_'));
  const shown = new Set(
    dashboardQueries().flatMap(({ query }) => asked(query).map(({ name }) => name)),
  );
  const base = (name: string) => name.replace(/_(bucket|sum|count)$/, '');
  const shownBases = new Set([...shown].map(base));
  expect([...new Set(own.map(base))].filter((name) => !shownBases.has(name))).toEqual([]);
});

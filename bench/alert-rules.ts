import { randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { basename } from 'node:path';
import { text } from 'node:stream/consumers';
import { createGunzip } from 'node:zlib';
import { asTenant } from './alerts.ts';
import { startBenchService } from './bench-service.ts';

/*
 * How often each built-in rule would have rung on logs of others:
 *   node bench/alert-rules.ts <events.jsonl.gz> …
 * Each line is an event in the contract's shape, with a tenantId; `sourceId` is left out. Prints
 * alerts a day, over the days with events of the busiest tenants, and what the alerts were.
 */

const tenantsMax = 20;
const batchSize = 1_000;

interface Line {
  sourceId?: string;
  tenantId: string;
  timestamp: string;
}

type Rule = { name: string; builtIn: string | null } & Record<string, unknown>;

interface Tested {
  alerts: { at: string; group: Record<string, string>; count: number }[];
  perDay: { day: string; alerts: number }[];
  total: number;
  dropped: number;
  matched: number;
}

/** The rate rule on logs without recordings. */
const rateOfAll = {
  builtIn: 'unusual rate of all events',
  name: 'All',
  kind: 'unusual_rate',
  filters: {},
  count: 50,
  lookbackDays: 28,
};

const service = await startBenchService();
try {
  for (const file of process.argv.slice(2)) await judge(file);
} finally {
  await service.stop();
}

async function judge(file: string): Promise<void> {
  const tenants = await readEvents(file);
  const busiest = [...tenants].sort(([, a], [, b]) => b.length - a.length).slice(0, tenantsMax);
  let events = 0;
  const days = new Set<string>();
  let first = '9';
  for (const [id, lines] of busiest) {
    await service.call('PUT', `/api/tenants/${id}`, { name: 'Log of others', plan: 'Enterprise' });
    for (let at = 0; at < lines.length; at += batchSize) {
      const batch = lines.slice(at, at + batchSize).map(({ sourceId, ...event }) => event);
      await service.call('POST', '/api/audit-logs/batch', { events: batch });
    }
    events += lines.length;
    for (const { timestamp } of lines) {
      days.add(`${id} ${timestamp.slice(0, 10)}`);
      if (timestamp < first) first = timestamp;
    }
  }
  console.log(
    `${basename(file)}: ${events} events of ${busiest.length} tenants, ${days.size} days`,
  );
  const ids = busiest.map(([id]) => id);
  const since = `${first.slice(0, 10)}T00:00:00.000Z`;
  const ofTenant = asTenant(service, busiest[0]?.[0] ?? randomUUID());
  const { data } = await ofTenant<{ data: Rule[] }>('GET', '/api/alert-rules');
  for (const rule of [...data.filter(({ builtIn }) => builtIn !== null), rateOfAll]) {
    await judgeRule(rule, ids, since, days.size);
  }
}

async function judgeRule(
  rule: Rule,
  tenantIds: readonly string[],
  since: string,
  days: number,
): Promise<void> {
  const { name, kind, filters, count, windowMinutes, groupBy, lookbackDays, followedBy } = rule;
  const limits = { count, windowMinutes, groupBy, lookbackDays, followedBy };
  const given = Object.entries(limits).filter(([, value]) => value !== undefined);
  const stated = { name, kind, filters, ...Object.fromEntries(given) };
  const all: (Tested & { tenantId: string })[] = [];
  for (const tenantId of tenantIds) {
    const body = { rule: stated, since };
    const tested = await asTenant(service, tenantId)<Tested>('POST', '/api/alert-rules/test', body);
    all.push({ tenantId, ...tested });
  }
  const sum = (of: (each: Tested) => number) => all.reduce((total, each) => total + of(each), 0);
  const total = sum((each) => each.total);
  const most = Math.max(...all.flatMap(({ perDay }) => perDay.map(({ alerts }) => alerts)));
  const perDay = (total / days).toFixed(3);
  console.log(
    `  ${String(rule.builtIn).padEnd(28)} ${String(total).padStart(6)} alerts, ${perDay} a day, at most ${most}` +
      ` on one; ${sum((each) => each.matched)} events match, ${sum((each) => each.dropped)} dropped`,
  );
  for (const { tenantId, alerts } of all) {
    for (const { at, group, count: events } of total <= 20 ? alerts : alerts.slice(0, 1)) {
      console.log(`      ${tenantId.slice(0, 8)} ${at} ${JSON.stringify(group)} ${events} events`);
    }
  }
}

async function readEvents(file: string): Promise<Map<string, Line[]>> {
  const lines = (await text(createReadStream(file).pipe(createGunzip()))).split('\n');
  const events = lines.filter(Boolean).map((line): Line => JSON.parse(line));
  return Map.groupBy(events, ({ tenantId }) => tenantId);
}

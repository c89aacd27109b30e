import { watchedService } from '@indelible/testing/alert-setup';
import { expectLogIntact } from '@indelible/testing/intact';
import { turnsOf } from '@indelible/testing/longest-turn';
import { actorWith, serviceOn } from '@indelible/testing/service';
import { afterEach, expect, test } from 'vitest';
import { dayMs, hourMs, minuteMs } from './evaluate.ts';

const { service, tenant, alerts } = await watchedService();
afterEach(() => expectLogIntact(service, tenant.id));

interface Raised {
  id: string;
  sequence: number;
  resource: { id: string; name: string };
  after: { sequences: number[]; group: Record<string, string>; count: number; at: string };
}

/** The sequences of the alerts, oldest first. */
const raised = async (ruleId?: string) =>
  (await alerts.log())
    .filter(({ resource }: Raised) => ruleId === undefined || resource.id === ruleId)
    .map(({ after }: Raised) => after.sequences);

/** Another process, which remembers nothing. */
async function evaluateElsewhere() {
  const { app, close } = await serviceOn(service.servingUrl, service.clock);
  await app.alerts.tick();
  await close();
}

const atTime = (ms: number) => ({ timestamp: new Date(ms).toISOString() });
const ben = actorWith({ id: '22222222-2222-4222-8222-222222222222', ip: '198.51.100.4' });

test('an event that matches raises one alert, in the log, which names rule and event', async () => {
  await alerts.record({});
  const rule = await alerts.create();
  const [, , hit] = await alerts.record({ action: 'update' }, { action: 'delete' }, {});
  await alerts.evaluate();
  await alerts.evaluate();
  const [alert, ...more] = await alerts.log();
  expect(more).toEqual([]);
  expect(alert).toMatchObject({
    actor: { role: 'system' },
    resource: { type: 'alert', id: rule.id, name: 'Published' },
    recordedBy: { kind: 'service' },
    after: { ruleVersion: 1, kind: 'match', sequences: [hit?.sequence], events: [hit?.id] },
  });
});

test('every kind goes on where another process has stopped', async () => {
  const counting = await alerts.create({
    kind: 'threshold',
    count: 3,
    windowMinutes: 10,
    groupBy: 'ip',
  });
  const together = await alerts.create({ kind: 'threshold', count: 4, windowMinutes: 10 });
  const first = await alerts.create({ kind: 'first_seen', groupBy: 'resource', lookbackDays: 7 });
  const [a, b] = await alerts.record({ actor: ben }, { actor: ben });
  await evaluateElsewhere();
  service.clock.now += 5 * minuteMs;
  const [c, d, e] = await alerts.record({ actor: ben }, { actor: ben }, {});
  await evaluateElsewhere();
  service.clock.now += 5 * minuteMs;
  // Within the window of the alert: quiet.
  await alerts.record({ actor: ben }, { actor: ben }, { actor: ben });
  await evaluateElsewhere();
  expect(await raised(counting.id)).toEqual([[a, b, c].map((each) => each?.sequence)]);
  expect(await raised(together.id)).toEqual([[a, b, c, d].map((each) => each?.sequence)]);
  expect(d?.sequence).toBeLessThan(e?.sequence ?? 0);
  // Both actors are new: everything is the first time for them.
  expect(await raised(first.id)).toEqual([]);
  service.clock.now += 2 * dayMs;
  const other = { type: 'queue', id: '33333333-3333-4333-8333-333333333333' };
  const [known, fresh] = await alerts.record({ actor: ben }, { actor: ben, resource: other });
  await evaluateElsewhere();
  await alerts.record({ actor: ben, resource: other });
  await evaluateElsewhere();
  expect(known?.sequence).toBeLessThan(fresh?.sequence ?? 0);
  expect(await raised(first.id)).toEqual([[fresh?.sequence]]);
});

test('an hour far above the same hour of the weeks before is told, once in the hour', async () => {
  const begun = service.clock.now;
  const hour = (week: number) => begun - week * 7 * dayMs;
  for (const week of [4, 3, 2, 1]) {
    service.clock.now = hour(week);
    await alerts.record(...Array.from({ length: 5 }, () => ({ actor: ben })));
  }
  service.clock.now = begun;
  const rule = await alerts.create({ kind: 'unusual_rate', count: 10 });
  const many = (count: number) => Array.from({ length: count }, () => ({ actor: ben }));
  await alerts.record(...many(9));
  await evaluateElsewhere();
  expect(await raised(rule.id)).toEqual([]);
  const [tenth] = await alerts.record(...many(20));
  await evaluateElsewhere();
  await alerts.record(...many(20));
  await evaluateElsewhere();
  expect(await raised(rule.id)).toEqual([[tenth?.sequence]]);
});

test('a silence is told once, and again after an event and another silence', async () => {
  const rule = await alerts.create({ kind: 'silence', windowMinutes: 30 });
  const count = async () => (await raised(rule.id)).length;
  service.clock.now += 29 * minuteMs;
  await alerts.record({});
  await alerts.evaluate();
  service.clock.now += 29 * minuteMs;
  await alerts.evaluate();
  expect(await count(), 'an event came in time').toBe(0);
  service.clock.now += minuteMs;
  await alerts.evaluate();
  service.clock.now += 3 * hourMs;
  await alerts.record({ action: 'update' });
  await alerts.evaluate();
  expect(await count(), 'one silence').toBe(1);
  await alerts.record({});
  await alerts.evaluate();
  service.clock.now += 31 * minuteMs;
  await alerts.evaluate();
  expect(await count(), 'the next silence').toBe(2);
});

test('the metrics count the entries of all logs that rules have not evaluated', async () => {
  await alerts.create();
  await alerts.evaluate();
  const behind = async () => {
    const { text } = await service.call({ url: '/metrics', key: null });
    return Number(/^indelible_alerts_behind_entries (\d+)$/m.exec(text)?.[1]);
  };
  const before = await behind();
  await alerts.record({}, {}, {});
  expect(await behind()).toBe(before + 3);
  await alerts.evaluate();
  expect(await behind()).toBe(before);
});

test('events that come over an hour late set nothing off, and are counted', async () => {
  const rule = await alerts.create();
  const { now } = service.clock;
  await alerts.record(atTime(now - hourMs - 1), atTime(now - dayMs), atTime(now - 90 * dayMs));
  const [onTime] = await alerts.record(atTime(now - hourMs));
  await alerts.evaluate();
  expect(await raised(rule.id)).toEqual([[onTime?.sequence]]);
  expect((await alerts.call('GET', '')).body).toMatchObject({ lateSkipped: 3, behind: 0 });
});

test('alerts, and what is recorded about them, set nothing off', async () => {
  await alerts.create({ filters: {} });
  const [event] = await alerts.record({});
  for (let round = 0; round < 3; round++) {
    service.clock.now += 11 * minuteMs;
    await alerts.evaluate();
  }
  expect(await raised()).toEqual([[event?.sequence]]);
  expect(await alerts.log('notify')).toHaveLength(1);
});

test('a rule that is changed begins anew, one that is renamed goes on', async () => {
  const settings = { kind: 'threshold', count: 3, windowMinutes: 10, groupBy: 'actor' };
  const { id } = await alerts.create(settings);
  await alerts.record({}, {});
  await alerts.evaluate();
  await alerts.call('PUT', `/${id}`, { windowMinutes: 11 });
  await alerts.record({}, {});
  await alerts.evaluate();
  expect(await raised(id)).toEqual([]);
  await alerts.call('PUT', `/${id}`, { name: 'Renamed' });
  await alerts.record({});
  await evaluateElsewhere();
  const [alert, ...more] = await alerts.log();
  expect([alert.resource.name, more]).toEqual(['Renamed', []]);
});

test('a rule that is switched off raises nothing, also for events before that are not evaluated yet', async () => {
  const { id } = await alerts.create();
  await alerts.record({});
  await alerts.call('PUT', `/${id}`, { enabled: false });
  await alerts.record({});
  await alerts.evaluate();
  await alerts.call('PUT', `/${id}`, { enabled: true });
  const [event] = await alerts.record({});
  await alerts.evaluate();
  expect(await raised(id)).toEqual([[event?.sequence]]);
});

test('a test of a rule finds what was raised, and raises nothing', async () => {
  const since = new Date(service.clock.now).toISOString();
  const rules = [
    await alerts.create(),
    await alerts.create({ kind: 'threshold', count: 2, windowMinutes: 30, groupBy: 'actor' }),
    await alerts.create({ kind: 'first_seen', groupBy: 'ip' }),
  ];
  for (let round = 0; round < 8; round++) {
    service.clock.now += (round === 5 ? 30 : 1) * (round % 2 ? hourMs : 11 * minuteMs);
    await alerts.record({}, { actor: round > 5 ? { ...ben, ip: `192.0.${round}.1` } : ben });
    await (round % 3 ? alerts.evaluate() : evaluateElsewhere());
  }
  service.clock.now += 1;
  const found: number[] = [];
  for (const { id } of rules) {
    const { status, body, text } = await alerts.call('POST', `/${id}/test`, { since });
    expect(status, text).toBe(200);
    const days = body.perDay.map((each: { alerts: number }) => each.alerts);
    expect(days.reduce((a: number, b: number) => a + b)).toBe(body.total);
    const events = body.alerts.map((each: { events: { sequence: number }[] }) =>
      each.events.map(({ sequence }) => sequence),
    );
    expect(events).toEqual(await raised(id));
    found.push(body.total);
  }
  expect(found).toEqual([16, 6, 2]);
  const [match] = rules;
  const { name, kind, filters } = match;
  const body = { rule: { name, kind, filters }, since };
  expect((await alerts.call('POST', '/test', body)).body.total).toBe(16);
});

test('failures that a success follows ring once, in another process and in a test too', async () => {
  const since = new Date(service.clock.now).toISOString();
  const { data } = (await alerts.call('GET', '')).body;
  const named = ({ builtIn }: { builtIn: string }) => builtIn === 'failed_logins_then_success';
  const { id } = data.find(named);
  await alerts.call('PUT', `/${id}`, { enabled: true, count: 3 });
  const failed = { action: 'login_failed', actor: ben };
  const login = { action: 'login', actor: ben };
  await alerts.record(login, failed, failed, { ...login, actor: { ...ben, ip: '192.0.2.9' } });
  await evaluateElsewhere();
  const [third] = await alerts.record(failed, { ...failed, actor: { ...ben, ip: '192.0.2.9' } });
  await alerts.evaluate();
  const [success] = await alerts.record(login, login);
  await evaluateElsewhere();
  const [sequences, ...more] = await raised(id);
  expect(more).toEqual([]);
  expect(sequences).toHaveLength(4);
  expect(sequences?.slice(-2)).toEqual([third?.sequence, success?.sequence]);
  service.clock.now += 1;
  const tested = (await alerts.call('POST', `/${id}/test`, { since })).body;
  const seen = tested.alerts.map((each: { events: { sequence: number }[] }) =>
    each.events.map(({ sequence }) => sequence),
  );
  expect([seen, tested.matched]).toEqual([[sequences], 4]);
});

test('in a test over many days an actor is new on the first one only', async () => {
  const { now } = service.clock;
  const type = (name: string) => ({ type: name, id: '33333333-3333-4333-8333-333333333333' });
  await alerts.record(
    { ...atTime(now - 9 * dayMs), actor: ben, resource: type('queue') },
    { ...atTime(now - 9 * dayMs + hourMs), actor: ben, resource: type('agent') },
    { ...atTime(now - 5 * dayMs), actor: ben, resource: type('ivr') },
  );
  const since = new Date(now - 20 * dayMs).toISOString();
  const rule = { name: 'x', kind: 'first_seen', groupBy: 'actor', filters: {} };
  const { body } = await alerts.call('POST', '/test', { rule, since });
  const groups = body.alerts.map(({ group }: { group: Record<string, string> }) => group);
  expect(groups).toEqual([{ actor: ben.id, resourceType: 'ivr' }]);
});

test('a rule that waits too long for its past rests and begins anew, while the others go on', async () => {
  const filters = { q: 'menu' };
  const slow = await alerts.create({ kind: 'threshold', count: 2, windowMinutes: 5, filters });
  const other = await alerts.create();
  const menu = { resource: { type: 'queue', id: ben.id, name: 'menu' } };
  const record = async (count: number) => {
    const events = await alerts.record(...Array.from({ length: count }, () => menu));
    return events.map(({ sequence }) => sequence);
  };
  const first = await record(1);
  await evaluateElsewhere();
  await service.owner.query('BEGIN; LOCK TABLE word_heads, word_blocks, word_lists');
  const second = await record(1);
  await alerts.evaluate();
  await service.owner.query('ROLLBACK');
  const resting = await record(2);
  await alerts.evaluate();
  expect(await raised(slow.id)).toEqual([]);
  const matched = [...first, ...second, ...resting].map((sequence) => [sequence]);
  expect(await raised(other.id)).toEqual(matched);
  service.clock.now += 10 * minuteMs;
  const anew = await record(2);
  await alerts.evaluate();
  expect(await raised(slow.id)).toEqual([anew]);
});

test('a rule raises 60 alerts in an hour at most, and says how many more there were', async () => {
  const { id } = await alerts.create();
  const dropped = async () => (await alerts.call('GET', `/${id}`)).body.dropped;
  await alerts.record(...Array.from({ length: 65 }, () => ({})));
  await alerts.evaluate();
  expect([(await raised(id)).length, await dropped()]).toEqual([60, 5]);
  await alerts.record({});
  await evaluateElsewhere();
  expect(await dropped()).toBe(6);
  await alerts.call('PUT', `/${id}`, { filters: { action: ['publish', 'delete'] } });
  expect(await dropped()).toBe(0);
});

test('rules that all ring at once hold the log for 200 alerts at a time, and lose none', {
  tags: 'plain',
}, async () => {
  const [rules, events] = [10, 65];
  await alerts.create();
  await service.owner.query(
    `INSERT INTO alert_rules (tenant_id, id, settings, enabled, from_sequence, created_at, updated_at)
     SELECT $1, gen_random_uuid(), settings, true, from_sequence, now(), now()
     FROM alert_rules, generate_series(2, $2) WHERE tenant_id = $1`,
    [tenant.id, rules],
  );
  await service.owner.query(`CREATE TABLE inserted (by bigint, tenant uuid);
    CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = indelible
      AS 'BEGIN INSERT INTO inserted SELECT txid_current(), tenant_id FROM fresh; RETURN NULL; END';
    CREATE TRIGGER note AFTER INSERT ON audit_events REFERENCING NEW TABLE AS fresh EXECUTE FUNCTION note()`);
  await alerts.record(...Array.from({ length: events }, () => ({})));
  await alerts.evaluate();
  const { rows } = await service.owner.query<{ most: number; all: number }>(
    `SELECT max(n)::int AS most, sum(n)::int AS all
     FROM (SELECT count(*) AS n FROM inserted WHERE tenant = $1 GROUP BY by) t`,
    [tenant.id],
  );
  expect(rows[0]?.most).toBeLessThanOrEqual(200);
  // Besides: the events, and one message about each rule.
  expect(rows[0]?.all).toBe(events + rules * (60 + 1));
  const { data } = (await alerts.call('GET', '')).body;
  const own = data.filter(({ enabled }: { enabled: boolean }) => enabled);
  expect(own.map(({ dropped }: { dropped: number }) => dropped)).toEqual(
    Array(rules).fill(events - 60),
  );
});

test('many rules for words and large events do not keep other requests waiting', async () => {
  for (let nth = 0; nth < 30; nth++) await alerts.create({ filters: { q: `octopus${nth}` } });
  const text = Array.from({ length: 160 }, (_, nth) => `word${nth}`).join(' ');
  const diff = Object.fromEntries(
    Array.from({ length: 100 }, (_, nth) => [`f${nth}`, { from: null, to: `${nth} ${text}` }]),
  );
  await alerts.record(...Array.from({ length: 20 }, () => ({ diff })));
  const { total, longest } = await turnsOf(() => alerts.evaluate());
  expect(longest).toBeLessThan(total / 3);
});

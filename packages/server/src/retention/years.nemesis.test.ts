import { defaultPlans, type Plan } from '@indelible/protocol';
import { expectRetainedIntact } from '@indelible/testing/intact';
import {
  change,
  day,
  listed,
  partitionFor,
  planCutoff,
  recordLate,
  run,
  stored,
  type Tenant,
} from '@indelible/testing/retention-setup';
import { testService } from '@indelible/testing/service';
import { expect, test } from 'vitest';

/* The rules once more, told the slow way: by what was in force when. */

const service = await testService();

const { names } = defaultPlans;

interface State {
  sinceMs: number;
  plan: Plan;
  legalHold: boolean;
}

interface Known {
  id: string;
  timeMs: number;
  receivedMs: number;
  /** Whether there was a run at which it was owed no more. */
  mayBeGone: boolean;
}

/** A tenant, what it had when, and the events it was told are recorded. */
interface Simulated {
  tenant: Tenant;
  states: State[];
  events: Known[];
}

const isHidden = ({ timeMs, receivedMs }: Known, { plan, legalHold }: State, atMs: number) =>
  !legalHold && Math.max(timeMs, receivedMs) < planCutoff(plan, atMs);

/** What was in force at any moment from `fromMs` on. */
function statesSince({ states }: Simulated, fromMs: number): State[] {
  const before = states.filter(({ sinceMs }) => sinceMs <= fromMs).slice(-1);
  return [...before, ...states.filter(({ sinceMs }) => sinceMs > fromMs)];
}

const current = ({ states }: Simulated): State => {
  const last = states.at(-1);
  if (!last) throw new Error('no state');
  return last;
};

async function simulated(plan: Plan): Promise<Simulated> {
  const tenant = await service.tenant(plan);
  return { tenant, states: [{ sinceMs: 0, plan, legalHold: false }], events: [] };
}

async function record(of: Simulated, timeMs: number): Promise<void> {
  const state = current(of);
  if (!state.legalHold && timeMs < planCutoff(state.plan, service.clock.now)) return;
  await partitionFor(service, of.tenant, timeMs);
  const id = await recordLate(service, of.tenant, timeMs);
  of.events.push({ id, timeMs, receivedMs: service.clock.now, mayBeGone: false });
}

async function become(of: Simulated, plan: Plan, legalHold: boolean): Promise<void> {
  await change(service, of.tenant, { plan, legalHold });
  of.states.push({ sinceMs: service.clock.now, plan, legalHold });
}

/** Runs the job on this day and the next, and holds what is left against the rules. */
async function runAndCheck(all: readonly Simulated[]): Promise<void> {
  for (let n = 0; n < 2; n++) {
    const { now } = service.clock;
    for (const each of all) {
      const states = statesSince(each, now - 30 * day);
      for (const event of each.events) {
        if (states.every((state) => isHidden(event, state, now))) event.mayBeGone = true;
      }
    }
    await run(service);
    if (n === 0) service.clock.now += day;
  }
  for (const each of all) await check(each);
}

async function check(each: Simulated): Promise<void> {
  const { now } = service.clock;
  const left = new Set(
    await stored(
      service,
      each.events.map(({ id }) => id),
    ),
  );
  const when = new Date(now).toISOString();
  const early = each.events.filter(({ id, mayBeGone }) => !mayBeGone && !left.has(id));
  expect(early, `gone too early at ${when}`).toEqual([]);
  const bound = now - 35 * day;
  const states = statesSince(each, bound);
  const late = each.events.filter(
    (event) => left.has(event.id) && states.every((state) => isHidden(event, state, bound)),
  );
  expect(late, `still there at ${when}`).toEqual([]);
  const visible = each.events
    .filter((event) => left.has(event.id) && !isHidden(event, current(each), now))
    .sort((a, b) => a.timeMs - b.timeMs || (a.id < b.id ? -1 : 1));
  expect(await listed(service, each.tenant)).toEqual(visible.map(({ id }) => id));
  each.events = each.events.filter(({ id }) => left.has(id));
}

function dice(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

test('over months of changing plans and holds nothing owed goes, nothing expired stays, and lists are whole', async () => {
  const roll = dice(7);
  const all = await Promise.all([...names, 'Pro'].map(simulated));
  for (let step = 0; step < 12; step++) {
    for (const each of all) {
      for (let n = 0; n < 3; n++) await record(each, service.clock.now - roll(n * 200 + 1) * day);
      const { plan, legalHold } = current(each);
      if (roll(3) === 0) await become(each, names[roll(3)] ?? plan, legalHold);
      if (roll(8) === 0) await become(each, plan, !legalHold);
    }
    await runAndCheck(all);
    service.clock.now += (1 + roll(12)) * day + roll(day);
  }
  for (const { tenant } of all) await expectRetainedIntact(service, tenant.id);
});

test('over eight years, leap days among them, every plan keeps exactly what it promises', async () => {
  const all = await Promise.all(names.map(simulated));
  const leapDays = [Date.UTC(2028, 1, 28, 12), Date.UTC(2029, 1, 28, 23), Date.UTC(2035, 1, 28)];
  const from = service.clock.now;
  const moments = Array.from({ length: 9 }, (_, n) => from + n * 365.25 * day);
  for (const moment of [...moments, ...leapDays].sort((a, b) => a - b)) {
    if (moment > service.clock.now) service.clock.now = Math.floor(moment);
    await runAndCheck(all);
    for (const each of all) {
      for (const days of [0, 20, 31, 300]) await record(each, service.clock.now - days * day);
    }
  }
  expect(service.clock.now - from).toBeGreaterThan(7.9 * 365 * day);
  for (const { tenant } of all) await expectRetainedIntact(service, tenant.id);
});

import { expect, test } from 'vitest';
import { createPlans, defaultPlans, type Plan, retentionCutoff } from '../plan.ts';
import { createFindings } from './findings.ts';
import { type CoverClaims, clockSlackMs, provenCover } from './proven-cover.ts';
import { ServiceRecords, type TermsRecord } from './service-records.ts';

const nowMs = Date.UTC(2026, 5, 1);
const day = 86_400_000;
const starterMs = retentionCutoff({ days: 30 }, nowMs);
const proMs = retentionCutoff({ years: 1 }, nowMs);

const terms = (sequence: number, plan: Plan | null, more: Partial<TermsRecord> = {}) => ({
  sequence,
  timeMs: nowMs - 90 * day,
  before: null,
  after: plan && { plan, legalHold: false },
  ...more,
});

const hold = (plan: Plan) => ({ plan, legalHold: true });

/** A removal of a day ago, of what happened 35 days ago or earlier, in the first 60 entries. */
const removal = {
  sequence: 70,
  timeMs: nowMs - day,
  cutoffMs: nowMs - 35 * day,
  size: 60,
  isOffboarding: false,
  plan: null as Plan | null,
};
const leaving = { ...removal, cutoffMs: nowMs, isOffboarding: true };

/**
 * The cover out of these claims: what it says of an event of 40, and of 400 days ago, and findings.
 */
function judged(claims: Partial<CoverClaims>, records: Partial<ServiceRecords> = {}) {
  const findings = createFindings();
  const all = Object.assign(new ServiceRecords(), records);
  const nothing = {
    statedCutoffMs: null,
    statedPlan: null,
    knownPlan: null,
    lastAbsentOwn: -1,
    lastProduced: -1,
  };
  const { cover, plan } = provenCover({ nowMs, ...nothing, records: all, ...claims }, findings);
  return {
    recent: cover.absenceOf(50, nowMs - 20 * day, nowMs - 20 * day),
    month: cover.absenceOf(50, nowMs - 40 * day, nowMs - 40 * day),
    year: cover.absenceOf(50, nowMs - 400 * day, nowMs - 400 * day),
    plan,
    codes: findings.countByCode(),
  };
}

test('events that the recorded plan hides may be absent, and no younger ones', () => {
  expect(judged({ statedCutoffMs: proMs }, { terms: [terms(0, 'Pro')] })).toEqual({
    recent: 'missing',
    month: 'missing',
    year: 'expired',
    plan: { name: 'Pro', from: 'log' },
    codes: {},
  });
});

test('a stated plan or cutoff that contradicts the log is a finding, and explains nothing', () => {
  const record = { terms: [terms(0, 'Enterprise')] };
  const cutoff = judged({ statedCutoffMs: starterMs }, record);
  expect(cutoff).toMatchObject({ month: 'missing', year: 'missing' });
  expect(cutoff.codes).toEqual({ retention_exceeded: 1 });
  expect(judged({ statedPlan: 'Starter' }, record).codes).toEqual({ plan_mismatch: 1 });
  expect(judged({ knownPlan: 'Pro' }, record).codes).toEqual({ plan_mismatch: 1 });
});

test('an absence without a record of the plan is only stated, within the shortest plan', () => {
  expect(judged({ statedCutoffMs: starterMs })).toMatchObject({
    recent: 'missing',
    month: 'stated',
    year: 'stated',
    plan: null,
    codes: {},
  });
  const beyond = judged({ statedCutoffMs: nowMs });
  expect(beyond).toMatchObject({ recent: 'missing', codes: { retention_exceeded: 1 } });
  expect(judged({}).year).toBe('missing');
});

test('the plan that the caller knows explains what the log cannot', () => {
  const known = { statedCutoffMs: starterMs, knownPlan: 'Starter' } as const;
  expect(judged(known)).toMatchObject({
    month: 'expired',
    plan: { name: 'Starter', from: 'caller' },
    codes: {},
  });
  expect(judged({ ...known, knownPlan: 'Pro' })).toMatchObject({
    month: 'missing',
    codes: { retention_exceeded: 1 },
  });
});

test('a record of the plan counts only while no later one can be absent, and shows the plan', () => {
  const stated = { statedCutoffMs: starterMs };
  const starter = { terms: [terms(10, 'Starter')] };
  expect(judged({ ...stated, lastAbsentOwn: 9 }, starter).month).toBe('expired');
  expect(judged({ ...stated, lastAbsentOwn: 11 }, starter).month).toBe('stated');
  const withheld = { terms: [terms(10, 'Starter'), terms(20, null)] };
  expect(judged(stated, withheld).month).toBe('stated');
  const later = { terms: [terms(20, 'Pro'), terms(10, 'Starter')] };
  expect(judged(stated, later)).toMatchObject({
    month: 'missing',
    codes: { retention_exceeded: 1 },
  });
});

test('events that an earlier plan hid before it ended stay gone', () => {
  const before = { plan: 'Starter', legalHold: false } as const;
  const upgraded = terms(60, 'Enterprise', { before, timeMs: nowMs - 5 * day });
  expect(judged({}, { terms: [upgraded] })).toMatchObject({ month: 'expired', recent: 'missing' });
  // Recorded after the change, it was under the new plan from the start.
  expect(judged({}, { terms: [{ ...upgraded, sequence: 50 }] }).month).toBe('missing');
  const held = { ...upgraded, before: { ...before, legalHold: true } };
  expect(judged({}, { terms: [held] }).month).toBe('missing');
});

test('under a legal hold nothing becomes absent', () => {
  const held = terms(60, null, { after: { plan: 'Starter', legalHold: true } });
  expect(judged({ statedCutoffMs: starterMs }, { terms: [held] }).month).toBe('missing');
});

test('a recorded removal explains what it covers, if its plan allowed it', () => {
  const enterprise = [terms(80, 'Enterprise')];
  const starter = { removals: [{ ...removal, plan: 'Starter' }], terms: enterprise };
  expect(judged({}, starter)).toMatchObject({ month: 'expired', recent: 'missing', codes: {} });
  const pro = { removals: [{ ...removal, plan: 'Pro' }], terms: enterprise };
  expect(judged({}, pro)).toMatchObject({ month: 'missing', codes: { retention_exceeded: 1 } });
  const small = { removals: [{ ...removal, size: 50 }], terms: enterprise };
  expect(judged({}, small).month).toBe('missing');
});

test('a removal under a smaller plan than the log had, or under its hold, explains nothing', () => {
  const removals = [{ ...removal, plan: 'Starter' }];
  const codes = { retention_exceeded: 1 };
  for (const before of [terms(20, 'Pro'), terms(20, null, { after: hold('Starter') })]) {
    expect(judged({}, { removals, terms: [before] })).toMatchObject({ month: 'missing', codes });
  }
  const lowered = [terms(20, 'Pro'), terms(65, 'Starter'), terms(80, 'Pro')];
  expect(judged({}, { removals, terms: lowered })).toMatchObject({ month: 'expired', codes: {} });
});

test('every event of a tenant that has left may be gone', () => {
  const gone = { removals: [leaving], terms: [terms(80, 'Enterprise')] };
  expect(judged({ lastProduced: 69 }, gone)).toMatchObject({ recent: 'expired', codes: {} });
});

test('a tenant has not left if its producers recorded after that, and nothing is explained', () => {
  const gone = { removals: [leaving], terms: [terms(80, 'Enterprise')] };
  expect(judged({ lastProduced: 71 }, gone)).toMatchObject({
    recent: 'missing',
    codes: { retention_exceeded: 1 },
  });
});

test('removals go on telling the plan when the records of the tenant have expired', () => {
  const records = { removals: [{ ...removal, cutoffMs: nowMs - 45 * day, plan: 'Starter' }] };
  const stated = { statedCutoffMs: starterMs - clockSlackMs, lastAbsentOwn: 60 };
  expect(judged(stated, records)).toMatchObject({
    month: 'expired',
    plan: { name: 'Starter', from: 'log' },
    codes: {},
  });
  expect(judged({ ...stated, lastAbsentOwn: 71 }, records).month).toBe('stated');
});

test('a plan of the service explains what it hides, once the verifier knows it', () => {
  const record = { terms: [terms(0, 'Gold')] };
  const plans = createPlans([...defaultPlans.all, { name: 'Gold', class: 4, keeps: { days: 60 } }]);
  const statedCutoffMs = nowMs - 60 * day;
  expect(judged({ statedCutoffMs, plans }, record)).toMatchObject({
    month: 'missing',
    year: 'expired',
    plan: { name: 'Gold', from: 'log' },
  });
  expect(judged({ statedCutoffMs }, record)).toMatchObject({ year: 'stated', plan: null });
});

import { performance } from 'node:perf_hooks';
import { expectNothingLost, Ledger, sendAgain } from '@indelible/testing/load';
import { expectNoFork } from '@indelible/testing/no-fork';
import { expect, test } from 'vitest';
import { type Attack, faults, Random } from './faults.ts';
import { patiently } from './ground.ts';
import { type Installation, startInstallation } from './installation.ts';

/*
 * Faults of every kind, one after another, against three processes under load. Afterwards a checker
 * that shares no code with the service holds what is stored against what producers were told.
 */

const minutes = Number(process.env.NEMESIS_MINUTES ?? 0);
const firstSeed = Number(process.env.NEMESIS_SEED ?? Date.now() % 2 ** 31);
const wanted = process.env.NEMESIS_FAULTS?.split(',') ?? Object.keys(faults);

const say = (text: string) => process.stdout.write(`${text}\n`);

test(
  'no failure loses an acknowledged event, stores one twice or gets a fork signed',
  async () => {
    const end = performance.now() + minutes * 60_000;
    let seed = firstSeed;
    do {
      say(`seed ${seed}`);
      const installation = await startInstallation(3, 4);
      try {
        await attack({ installation, random: new Random(seed) });
      } finally {
        await installation.close();
      }
      seed += 1;
    } while (performance.now() < end);
  },
  Number.POSITIVE_INFINITY,
);

/** Every fault once, in an order that the seed decides, then the check. */
async function attack(given: Attack): Promise<void> {
  const { installation, random } = given;
  for (const member of installation.members) member.attack(installation.tenantIds);
  for (const name of shuffled(wanted, random)) {
    const fault = faults[name];
    if (fault === undefined) throw new Error(`no fault is called ${name}`);
    const started = performance.now();
    await fault(given);
    await expectProgress(installation);
    say(`  ${name}: recording again after ${Math.round(performance.now() - started)} ms`);
  }
  await check(installation);
}

function shuffled(names: readonly string[], random: Random): string[] {
  return names
    .map((name) => ({ name, at: random.next() }))
    .sort((a, b) => a.at - b.at)
    .map(({ name }) => name);
}

/** Each process acknowledges events again, by itself. */
async function expectProgress({ members }: Installation): Promise<void> {
  for (const { ledger } of members) {
    const before = ledger.acknowledged.length;
    const count = () => ledger.acknowledged.length - before;
    await expect.poll(count, patiently).toBeGreaterThan(20);
  }
}

async function check(installation: Installation): Promise<void> {
  const { members, backups, store } = installation;
  await Promise.all(members.map((member) => member.calm()));
  const all = new Ledger();
  for (const { service, ledger, log } of members) {
    // On a cluster, a commit that a crash has cut off locks its logs until it is recovered.
    const refused = async () =>
      (await sendAgain(service, ledger)).filter((each) => each !== 200 && each !== 201);
    await expect.poll(refused, patiently).toEqual([]);
    expect(ledger.problems, loggedErrors(log)).toEqual([]);
    expect(log).not.toContain('unexpected error');
    all.sent.push(...ledger.sent);
  }
  const owner = await installation.owner();
  await expectNothingLost(owner, all).finally(() => owner.end());
  await expectNoFork(backups, store);
  say(`  ${all.acknowledged.length} events acknowledged: all stored, once; no fork`);
}

/** Each kind of error that a process logged, once: one of them is why a call was answered 500. */
function loggedErrors(log: string): string {
  const entries = log.split('\n').filter((line) => line.includes('"err":'));
  const kinds = entries.map((line) => {
    const { msg, err } = JSON.parse(line);
    return `${msg}: ${err.code} ${err.message}`;
  });
  return [...new Set(kinds)].join('\n');
}

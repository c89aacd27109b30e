import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { statSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { eventIdFromUuid, eventUuid } from '@indelible/protocol';
import type { CommitFault } from '@indelible/testing/postgres-proxy';
import { nthEvent } from '@indelible/testing/service';
import { expect } from 'vitest';
import { reopenLog } from '../packages/server/src/operations/reopen.command.ts';
import { patiently } from './ground.ts';
import type { Installation, Member } from './installation.ts';

/** An installation that is being recorded in, and what decides what happens to it. */
export interface Attack {
  installation: Installation;
  random: Random;
}

/** Numbers that a seed decides, so that an attack can be repeated. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** From 0 to 1, without 1 (mulberry32). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** A whole number, both ends included. */
  between(low: number, high: number): number {
    return low + Math.floor(this.next() * (high - low + 1));
  }

  of<T>(list: readonly T[]): T {
    const chosen = list[this.between(0, list.length - 1)];
    if (chosen === undefined) throw new RangeError('nothing to choose from');
    return chosen;
  }
}

export type Fault = (attack: Attack) => Promise<void>;

/** Each leaves the installation running, whatever it did to it. */
export const faults: Readonly<Record<string, Fault>> = {
  'kill a process': async (attack) => {
    await restarted(attack, someMember(attack), 'SIGKILL');
  },
  'stop a process': async (attack) => {
    const code = await restarted(attack, someMember(attack), 'SIGTERM');
    if (code !== 0) throw new Error(`a process that was told to stop ended with ${code}`);
  },
  'freeze a process': async (attack) => {
    const { pid } = someMember(attack);
    process.kill(pid, 'SIGSTOP');
    await delay(attack.random.between(200, 3_000));
    process.kill(pid, 'SIGCONT');
  },
  'kill PostgreSQL': async ({ installation, random }) => {
    await installation.postgres.crash((nodes) => random.of(nodes));
  },
  'cut a process off': async (attack) => {
    const { proxy } = someMember(attack);
    proxy.cut();
    await delay(attack.random.between(100, 2_000));
    proxy.mend();
  },
  'lose a COMMIT or its answer': async (attack) => {
    const lost: CommitFault[] = ['commit lost', 'answer lost'];
    for (const { proxy } of attack.installation.members) {
      proxy.breakNextCommit(attack.random.of(lost));
    }
    await delay(200);
  },
  'lock a log': async ({ installation, random }) => {
    const owner = await installation.owner();
    try {
      await owner.query('BEGIN');
      await owner.query('SELECT FROM log_heads WHERE tenant_id = $1 FOR UPDATE', [
        random.of(installation.tenantIds),
      ]);
      await delay(random.between(200, 3_000));
      await owner.query('ROLLBACK');
    } finally {
      await owner.end();
    }
  },
  'set a clock wrong': async (attack) => {
    const member = someMember(attack);
    const minutes = attack.random.between(-120, 120);
    await restarted(attack, member, 'SIGTERM', { NODE_OPTIONS: wrongClock(minutes * 60_000) });
    await delay(2_000);
    await restarted(attack, member, 'SIGTERM');
  },
  'fill the disk of the object store': async ({ installation, random }) => {
    await withFullDisk(
      installation.members.map(({ pid }) => pid),
      random.between(500, 3_000),
    );
  },
  'fill the disk of PostgreSQL': async ({ installation, random }) => {
    const servers = await installation.postgres.servers();
    if (servers.length === 0) throw new Error('PostgreSQL is not running');
    const pid = random.of(servers);
    await withFullDisk([pid, ...childrenOf(pid)], random.between(500, 3_000));
    // It may have ended the server; others record meanwhile, and would have the next fault begin.
    const back = async () => (await installation.postgres.servers().catch(() => [])).length;
    await expect.poll(back, patiently).toBe(servers.length);
  },
  'restore a backup': restoreBackup,
};

function someMember({ installation, random }: Attack): Member {
  return random.of(installation.members);
}

async function restarted(
  { installation }: Attack,
  member: Member,
  signal: NodeJS.Signals,
  env: Record<string, string> = {},
): Promise<number | null> {
  const code = await member.end(signal);
  await member.start(env);
  member.attack(installation.tenantIds);
  return code;
}

/** Node's options for a process whose clock is wrong by so much. */
function wrongClock(ms: number): string {
  const script = `const { now } = Date;
    globalThis.Date = class extends Date {
      constructor(...given) { given.length === 0 ? super(now() + ${ms}) : super(...given); }
      static now() { return now() + ${ms}; }
    };`;
  return `--import=data:text/javascript,${encodeURIComponent(script)}`;
}

/** Every write to a file fails, as on a full disk, in these processes and what they start. */
async function withFullDisk(pids: readonly number[], ms: number): Promise<void> {
  for (const pid of pids) fileSizeLimit(pid, '0');
  await delay(ms);
  for (const pid of pids) fileSizeLimit(pid, 'unlimited');
}

function fileSizeLimit(pid: number, bytes: string): void {
  const find = () => statSync(`/proc/${pid}`, { throwIfNoEntry: false });
  // PostgreSQL ends processes that cannot write: of those that are gone nothing is left to limit.
  const found = find();
  if (found === undefined) return;
  // Only its own account may limit a process, unless root has all its rights.
  const { uid, gid } = found;
  const options = ['--pid', String(pid), `--fsize=${bytes}:unlimited`];
  const { status, stderr } = spawnSync('prlimit', options, { uid, gid, encoding: 'utf8' });
  if (status !== 0 && find()) throw new Error(`no full disk for ${pid}: ${stderr}`);
}

function childrenOf(pid: number): number[] {
  const { stdout } = spawnSync('ps', ['-o', 'pid=', '--ppid', String(pid)], { encoding: 'utf8' });
  return (stdout ?? '').split('\n').filter(Boolean).map(Number);
}

/**
 * The database goes back to a copy while all processes record. Recording must stop everywhere; once
 * the logs are reopened, it goes on. What was acknowledged in between is lost with the backup, and
 * the producers forget it.
 */
async function restoreBackup({ installation, random }: Attack): Promise<void> {
  const { backups, members, env, tenantIds } = installation;
  const before = new Set(members.flatMap(({ ledger }) => ledger.acknowledged));
  const copy = await backups.take();
  await delay(random.between(1_000, 5_000));
  await expectCheckpoint(installation);
  await backups.restore(copy);
  for (const { ledger } of members) ledger.forget(before);
  await expectStopped(installation);
  for (const member of members) await member.end('SIGTERM');
  await reopenLog(env);
  for (const member of members) {
    await member.start();
    member.attack(tenantIds);
  }
}

/**
 * Without a checkpoint that holds more than the backup no check can tell that the database went
 * back. Producers may be idle meanwhile, or hear late of what the backup holds: this event is new.
 */
async function expectCheckpoint({ members, tenantIds }: Installation): Promise<void> {
  const call = async (path: string, more: object = {}) => {
    const headers = { 'x-tenant-id': tenantIds[0] ?? '', 'x-access-reason': 'nemesis' };
    return members[0]?.service.call({ path, headers, ...more }).catch(() => null);
  };
  const id = eventIdFromUuid(eventUuid(Date.now(), randomBytes(10)));
  const body = nthEvent(0, { tenantId: tenantIds[0], id });
  const record = async () => (await call('/api/audit-logs', { method: 'POST', body }))?.status;
  await expect.poll(record, patiently).toSatisfy((status) => status === 200 || status === 201);
  const prove = async () => (await call(`/api/audit-logs/${id}/proof`))?.status;
  await expect.poll(prove, patiently).toBe(200);
}

/** Every process says that recording is stopped. */
async function expectStopped({ members }: Installation): Promise<void> {
  for (const { service } of members) {
    const said = () => service.call({ path: '/readyz' }).then(({ text }) => text, String);
    await expect.poll(said, patiently).toContain('recording is stopped');
  }
}

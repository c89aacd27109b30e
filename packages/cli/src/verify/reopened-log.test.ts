import { join } from 'node:path';
import { envOf } from '@indelible/testing/archived';
import { Backups } from '@indelible/testing/backup';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { reopenLog } from '../../../server/src/operations/reopen.command.ts';
import { runCli } from '../testing/run-cli.ts';
import { signedAgain } from '../testing/signed-again.ts';
import { stateEvent, type VerifiedService, verifiedService } from '../testing/verified-service.ts';
import { SeenCheckpoints } from './seen-checkpoints.ts';

/*
 * A database that is really restored, and a log that is really reopened, as a verifier sees them.
 */

let log: VerifiedService;
let backups: Backups;
beforeEach(async () => {
  log = await verifiedService();
  backups = new Backups(log.service);
});
afterEach(() => backups.drop());

async function record(index: number): Promise<void> {
  const { service, tenant } = log;
  const body = stateEvent(index, service.clock.now - index);
  const { status } = await service.call({
    method: 'POST',
    url: '/api/audit-logs',
    key: tenant.key,
    body,
  });
  expect(status).toBe(201);
}

const tick = () => log.service.app.checkpoints.tick();

/** Restores the backup, lets the service find out, and reopens the logs. */
async function rewindTo(backup: string): Promise<void> {
  await backups.restore(backup);
  await tick();
  const reopened = await reopenLog(envOf(log.service));
  expect(reopened).toHaveLength(1);
  await tick();
}

/** A machine that saw another log of this size under the first name, signed like any. */
function machineThatSaw(size: number): string {
  const machine = `saw ${size}`;
  const [seen] = new SeenCheckpoints(join(log.folder, 'state'), log.tenant.id).load();
  const origin = seen?.checkpoint.origin ?? '';
  const note = signedAgain(log, { origin, size, root: new Uint8Array(32).fill(7) });
  new SeenCheckpoints(join(log.folder, machine), log.tenant.id).add(note, new Date());
  return machine;
}

test('a reopened log is held against what was seen and is left, and what is lost is said', async () => {
  expect((await log.verify()).checkpoint?.size).toBe(567);
  const backup = await backups.take();
  await record(1);
  await record(2);
  await tick();
  expect((await log.verify()).checkpoint?.size).toBe(569);
  await record(3);
  await tick();
  await rewindTo(backup);

  expect((await log.verify()).findings.byCode).toEqual({ other_log: 1 });
  // As its user does it: the command, and the second run needs no word of it any more.
  const env = { INDELIBLE_URL: log.url, INDELIBLE_API_KEY: log.tenant.key };
  const args = ['verify', log.tenant.id, '--state', join(log.folder, 'state')];
  const { status, stdout } = await runCli([...args, '--reopened'], { env });
  expect([status, stdout]).toEqual([0, expect.stringContaining('they are lost')]);
  expect(stdout).toContain('What 3 entries said that were published');
  expect(stdout).toContain('2 of them existed when this machine verified that log');
  expect(stdout).toContain('the checkpoint of size 567 that was verified before');
  await record(4);
  await tick();
  expect(await log.verify()).toMatchObject({
    result: 'intact',
    seenBefore: { size: 568 },
    checkpoint: { size: 569 },
  });
});

test('a machine verifies a log that was reopened twice, whichever of its former names it saw', async () => {
  const backup = await backups.take();
  await record(1);
  await tick();
  const sawFirst = 'saw the first name';
  expect((await log.verify({}, sawFirst)).result).toBe('intact');
  await rewindTo(backup);
  await record(2);
  await tick();
  const sawSecond = 'saw the second name';
  expect((await log.verify({}, sawSecond)).result).toBe('intact');
  // From before the first reopening, of which this backup knows nothing.
  await rewindTo(backup);
  for (const machine of [sawFirst, sawSecond]) {
    expect((await log.verify({}, machine)).findings.byCode).toEqual({ other_log: 1 });
    expect(await log.verify({ reopened: true }, machine)).toMatchObject({ result: 'intact' });
    expect(await log.verify({}, machine)).toMatchObject({ result: 'intact' });
  }
});

test('a reopened log whose older entries are others than those seen is found', async () => {
  await log.verify();
  const backup = await backups.take();
  await record(1);
  await tick();
  await rewindTo(backup);
  // An attacker makes everything agree, except with what this machine has seen.
  const report = await log.verify({ reopened: true }, machineThatSaw(500));
  expect(report.findings.byCode).toEqual({ earlier_root_mismatch: 1 });
});

test('a record that names less, or something else, than this machine has seen is found', async () => {
  const backup = await backups.take();
  await record(1);
  await tick();
  await log.verify();
  await rewindTo(backup);
  const byMore = await log.verify({ reopened: true }, machineThatSaw(569));
  expect(byMore.findings.byCode).toEqual({ rolled_back: 1 });
  const byOther = await log.verify({ reopened: true }, machineThatSaw(568));
  expect(byOther.findings.byCode).toEqual({ forked: 1 });
  expect((await log.verify({ reopened: true })).result).toBe('intact');
});

test('a record that only the list shows, or that no log has signed, reopens nothing', async () => {
  await log.verify();
  const backup = await backups.take();
  await record(1);
  await tick();
  await rewindTo(backup);
  const listed = (change: (event: { after: Record<string, unknown> }) => void): typeof fetch => {
    return async (url, init) => {
      const answer = await fetch(url, init);
      if (!String(url).includes('action=reopen')) return answer;
      const page = (await answer.json()) as { data: { after: Record<string, unknown> }[] };
      for (const event of page.data) change(event);
      return Response.json(page);
    };
  };
  const note = (text: unknown) => String(text);
  const forged = listed((event) => {
    const { lastPublishedCheckpoint: published } = event.after;
    event.after.lastPublishedCheckpoint = note(published).replace('\n568\n', '\n567\n');
  });
  const report = await log.verify({ reopened: true, fetch: forged });
  expect(report.findings.byCode).toMatchObject({ bad_signature: 1, other_log: 1 });
});

import { join } from 'node:path';
import { eventOf, platformKey, testService } from '@indelible/testing/service';
import { beforeEach, expect, test, vi } from 'vitest';
import { openSigner } from '../crypto/signer.ts';
import { startService } from '../main.ts';
import { createClock } from '../postgres/clock.ts';
import { createPresence, type Seen } from './presence.ts';
import { diagnoseProcesses } from './process-findings.ts';

const service = await testService();
const { owner, servingUrl, dataDir } = service;
beforeEach(() => owner.query('DELETE FROM processes'));

/** A process that serves, in effect. */
function serving({ sessionSecret = 'the secret of all', key = 'a' } = {}) {
  const lines: string[] = [];
  const seen: Seen[] = [];
  const note = (line: unknown) => void lines.push(String(line));
  const presence = createPresence({
    db: service.db,
    clock: createClock(),
    sessionSecret,
    signer: openSigner(join(dataDir, `${key}.pem`), true),
    logger: { warn: note, error: note },
    observer: (each) => void seen.push(each),
  });
  return { presence, lines, seen };
}

const diagnosed = async () =>
  (await diagnoseProcesses(servingUrl)).map(({ check, level }) => `${level} ${check}`);

test.each([
  ['session secret', { sessionSecret: 'of its own' }],
  ['signing keys', { key: 'b' }],
])(
  'processes that differ in their %s are told in logs, metric and doctor',
  async (check, other) => {
    const [first, second] = [serving(), serving(other)];
    await first.presence.renew(true);
    expect(await diagnosed()).toEqual(['ok processes']);
    await second.presence.renew(false);
    for (let n = 0; n < 2; n++) await first.presence.renew(true);
    for (const { lines, seen } of [first, second]) {
      expect(lines).toEqual([expect.stringMatching(/different .* Set /)]);
      expect(seen.at(-1)?.failures).toBe(1);
    }
    expect(await diagnosed()).toEqual([`fail ${check}`]);
    await second.presence.end();
    await first.presence.renew(true);
    expect(first.seen.at(-1)?.failures).toBe(0);
    expect(await diagnosed()).toEqual(['ok processes']);
    const { rows } = await owner.query(
      `SELECT encode(session_secret, 'escape') AS kept FROM processes`,
    );
    expect(rows[0].kept).not.toContain('secret');
  },
);

test('a database without a worker is told, and is a failure once a job has waited for a minute', async () => {
  const { presence, lines, seen } = serving();
  await presence.renew(false);
  expect(await diagnosed()).toEqual(['warn background work']);
  expect(seen.at(-1)).toMatchObject({ failures: 0, waits: {} });
  await owner.query(`INSERT INTO jobs (tenant_id, queue, id, data, due_at)
    VALUES (gen_random_uuid(), 'export', gen_random_uuid(), '{}', now() - interval '2 minutes')`);
  await presence.renew(false);
  expect(seen.at(-1)?.failures).toBe(1);
  expect(seen.at(-1)?.waits.export).toBeGreaterThan(119);
  expect(lines.at(-1)).toContain('--role worker');
  expect(await diagnosed()).toEqual(['fail background work']);
  const worker = serving();
  await worker.presence.renew(true);
  expect(await diagnoseProcesses(servingUrl)).toMatchObject([
    { check: 'processes', level: 'ok', detail: /1 of them as workers; .* waited for 1[2-9]\d s/ },
  ]);
  await owner.query('DELETE FROM jobs');
});

test('a process that died is forgotten', async () => {
  await serving({ sessionSecret: 'of one that died' }).presence.renew(true);
  await owner.query(`UPDATE processes SET seen_at = now() - interval '31 seconds'`);
  expect(await diagnosed()).toEqual(['ok processes']);
  await owner.query(`UPDATE processes SET seen_at = now() - interval '61 seconds'`);
  await serving().presence.renew(true);
  const { rows } = await owner.query('SELECT count(*)::int AS count FROM processes');
  expect(rows).toEqual([{ count: 1 }]);
});

const hourMs = 3_600_000;

async function jobs(): Promise<string[]> {
  const { rows } = await owner.query<{ queue: string }>('SELECT queue FROM jobs');
  return rows.map(({ queue }) => queue);
}

test.each([
  ['ahead', hourMs],
  ['behind', -hourMs],
])(
  'a process whose clock is an hour %s takes events, states when it took them, and takes over no work',
  async (_, aheadMs) => {
    const tenant = await service.tenant();
    await owner.query(`INSERT INTO jobs (tenant_id, queue, id, data, due_at, lease)
      SELECT id, queue, id, json_build_object('tenantId', id), now() + due, lease
      FROM (VALUES ('export', interval '20 minutes', gen_random_uuid()), ('tenant-mail', '0', null))
        AS work (queue, due, lease), gen_random_uuid() AS id`);
    const realMs = Date.now();
    vi.useFakeTimers({ toFake: ['Date'], now: realMs + aheadMs });
    const process = await startService({
      DATABASE_URL: servingUrl,
      DATA_DIR: dataDir,
      PLATFORM_API_KEY: platformKey,
      PORT: '0',
      LOG_LEVEL: 'silent',
    });
    try {
      const timestamp = new Date(realMs).toISOString();
      const answer = await fetch(`${process.url}/api/audit-logs`, {
        method: 'POST',
        headers: { authorization: `Bearer ${tenant.key}`, 'content-type': 'application/json' },
        body: JSON.stringify(eventOf({ timestamp })),
      });
      expect(answer.status).toBe(201);
      const { receivedAt } = (await answer.json()) as { receivedAt: string };
      expect(Math.abs(Date.parse(receivedAt) - realMs)).toBeLessThan(60_000);
      // It has done the job that is due, and left alone the one that another process works on.
      await expect.poll(() => jobs(), { timeout: 20_000 }).toEqual(['export']);
      expect(await diagnosed()).toEqual(['warn clock']);
      const metrics = await (await fetch(`${process.url}/metrics`)).text();
      const [, seconds] = /^indelible_clock_ahead_seconds (\S+)$/m.exec(metrics) ?? [];
      expect(Math.round(Number(seconds) / 60)).toBe(aheadMs / 60_000);
    } finally {
      vi.useRealTimers();
      await process.stop();
      await owner.query('DELETE FROM jobs');
    }
  },
);

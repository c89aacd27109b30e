import { once } from 'node:events';
import { fstatSync, readdirSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { uuidFromTypeId } from '@indelible/protocol';
import { poolEvents, recordAll } from '@indelible/testing/event-pool';
import { askForJob, download, exportsUrl, exportUntil, hasEnded } from '@indelible/testing/exports';
import { expectLogIntact } from '@indelible/testing/intact';
import { testService } from '@indelible/testing/service';
import { expect, test } from 'vitest';

const service = await testService();
service.app.jobs.start();
const tenant = await service.tenant();
await recordAll(service, tenant.key, poolEvents(200, service.clock.now, 20));
const asked = await askForJob(service, tenant.key);
const job = await exportUntil(service, tenant.key, asked.id, hasEnded);
const file = (await download(service, tenant.key, job.id)).text;

const link = async () => {
  const url = `${exportsUrl}/${job.id}/download`;
  const { headers } = await service.call({ url, key: tenant.key });
  return new URL(String(headers.location));
};
const open = ({ pathname, search }: URL, headers: Record<string, string> = {}) =>
  service.call({ url: `${pathname}${search}`, key: null, headers });

function withParameter(url: URL, name: string, value: string): URL {
  const other = new URL(url);
  other.searchParams.set(name, value);
  return other;
}

test('a download is recorded before there is a link, which opens the file without a credential', async () => {
  const list = '/api/audit-logs?action=download&sort=sequence';
  const before = (await service.call({ url: list, key: tenant.key })).body.data.length;
  const answer = await open(await link());
  expect(answer.status).toBe(200);
  expect(answer.headers).toMatchObject({
    'content-length': String(job.bytes),
    'content-type': 'text/csv; charset=utf-8; header=present',
    'accept-ranges': 'bytes',
    'cache-control': 'no-store',
    'referrer-policy': 'no-referrer',
    etag: `"${job.sha256}"`,
  });
  expect(String(answer.headers['content-disposition'])).toMatch(/^attachment; filename="tenant-/);
  const { data } = (await service.call({ url: list, key: tenant.key })).body;
  expect(data).toHaveLength(before + 1);
  expect(data.at(-1)).toMatchObject({
    category: 'data_access',
    resource: { type: 'export', id: uuidFromTypeId('exp_', job.id) },
  });
  await expectLogIntact(service, tenant.id);
});

test('a link has one spelling: whatever is written otherwise in it opens nothing', async () => {
  const fine = await link();
  const until = fine.searchParams.get('until') ?? '';
  const spelled: [name: string, value: string][] = [
    ['until', `0${until}`],
    ['until', `${until}.0`],
    ['until', `+${until}`],
    ['until', `${Number(until).toExponential(20)}`],
    ['tenant', tenant.id.toUpperCase()],
    ['signature', `${fine.searchParams.get('signature')}=`],
  ];
  for (const [name, value] of spelled) {
    const other = withParameter(fine, name, value);
    expect((await open(other)).status, `${name}=${value}`).toBe(404);
  }
  for (const more of ['&a=b', '&', `&until=${until}`]) {
    const other = new URL(fine);
    other.search += more;
    expect((await open(other)).status, more).toBe(404);
  }
  expect((await open(fine)).status).toBe(200);
});

test('a download that cannot be recorded does not happen', async () => {
  await service.owner.query("UPDATE log_rounds SET halted = 'for a test'");
  const url = `${exportsUrl}/${job.id}/download`;
  const refused = await service.call({ url, key: tenant.key });
  await service.owner.query('UPDATE log_rounds SET halted = NULL');
  expect([refused.status, refused.headers.location]).toEqual([503, undefined]);
});

test('a link lives five minutes, for its file alone', async () => {
  const url = await link();
  const changed = (name: string, value: string) => open(withParameter(url, name, value));
  const stranger = await service.tenant();
  const signature = url.searchParams.get('signature') ?? '';
  expect((await changed('tenant', stranger.id)).status).toBe(404);
  expect((await changed('until', String(service.clock.now + 86_400_000))).status).toBe(404);
  expect((await changed('signature', `${signature.slice(0, -2)}AA`)).status).toBe(404);
  expect((await changed('signature', '')).status).toBe(404);
  const other = await askForJob(service, tenant.key);
  const elsewhere = new URL(url);
  elsewhere.pathname = elsewhere.pathname.replace(job.id, other.id);
  expect((await open(elsewhere)).status).toBe(404);
  service.clock.now += 299_999;
  expect((await open(url)).status).toBe(200);
  service.clock.now += 1;
  expect((await open(url)).status).toBe(403);
});

test('a file comes in ranges, and never parts of two files', async () => {
  const url = await link();
  const bytes = Buffer.from(file);
  const size = bytes.length;
  const ranges: [range: string, start: number, end: number][] = [
    ['bytes=0-9', 0, 9],
    [`bytes=${size - 5}-`, size - 5, size - 1],
    ['bytes=-7', size - 7, size - 1],
    [`bytes=10-${size + 100}`, 10, size - 1],
    ['BYTES=10-99999999999999999999', 10, size - 1],
  ];
  for (const [range, start, end] of ranges) {
    const part = await open(url, { range });
    expect(part.status, range).toBe(206);
    expect(part.headers['content-range']).toBe(`bytes ${start}-${end}/${size}`);
    expect(part.text).toBe(bytes.subarray(start, end + 1).toString());
  }
  for (const range of [`bytes=${size}-`, 'bytes=-0', 'bytes=99999999999999999999-']) {
    const refused = await open(url, { range });
    expect([refused.status, refused.headers['content-range']]).toEqual([416, `bytes */${size}`]);
  }
  for (const range of ['bytes=5-2', 'bytes=0-1,4-5', 'lines=1-2', 'bytes=-']) {
    expect((await open(url, { range })).text, range).toBe(file);
  }
  const same = { range: 'bytes=0-9', 'if-range': `"${job.sha256}"` };
  expect((await open(url, same)).status).toBe(206);
  expect((await open(url, { ...same, 'if-range': '"another"' })).status).toBe(200);
});

/** The inode of an open file; null for one that was closed meanwhile. */
function inodeOf(fd: number): number | null {
  try {
    return fstatSync(fd).ino;
  } catch {
    return null;
  }
}

const storedAt = () =>
  join(service.dataDir, 'objects/exports', tenant.id, `${uuidFromTypeId('exp_', job.id)}.csv`);

test('a HEAD call is told the size, and the file is not read for it', async () => {
  const { pathname, search } = await link();
  const path = storedAt();
  truncateSync(path, 64 * 2 ** 30); // takes minutes to read, and no place on the disk
  const { ino } = statSync(path);
  const isRead = () => readdirSync('/dev/fd').some((fd) => inodeOf(Number(fd)) === ino);
  const url = `${pathname}${search}`;
  const head = await service.call({ method: 'HEAD', url, key: null });
  expect([head.status, head.text]).toEqual([200, '']);
  expect(head.headers).toMatchObject({
    'content-length': String(job.bytes),
    etag: `"${job.sha256}"`,
  });
  await expect.poll(isRead, { timeout: 3_000 }).toBe(false);
  writeFileSync(path, file);
});

test('a store that cannot be read answers 503, one without the file 410', async () => {
  const url = await link();
  const path = storedAt();
  rmSync(path);
  expect((await open(url)).body.code).toBe('gone');
  writeFileSync(path, file);
  expect((await open(url)).text).toBe(file);
});

/** Sends a request over a socket and hangs up after the first bytes of its answer. */
async function hangUpEarly(body: object): Promise<void> {
  const { port } = service.app.http.server.address() as { port: number };
  const socket = connect(port, '127.0.0.1');
  const text = JSON.stringify(body);
  socket.write(
    `POST ${exportsUrl} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${tenant.key}\r\n` +
      `content-type: application/json\r\ncontent-length: ${text.length}\r\n\r\n${text}`,
  );
  await once(socket, 'data');
  socket.destroy();
}

test('an export whose reader hangs up has failed, and that is recorded with what was sent', async () => {
  await service.app.http.listen({ port: 0, host: '127.0.0.1' });
  const state = 'x'.repeat(20_000);
  const large = Array.from({ length: 300 }, (_, n) => ({
    ...(poolEvents(1, service.clock.now, 1, n)[0] as object),
    after: { state, n },
  }));
  for (let at = 0; at < large.length; at += 100) {
    await recordAll(service, tenant.key, large.slice(at, at + 100));
  }
  await hangUpEarly({ filters: {}, format: 'ndjson' });
  const { body } = await service.call({ url: exportsUrl, key: tenant.key });
  const { id } = body.data[0];
  const failed = await exportUntil(service, tenant.key, id, hasEnded);
  expect(failed).toMatchObject({
    status: 'failed',
    sha256: null,
    error: 'the connection was closed before the file was complete',
  });
  const resource = uuidFromTypeId('exp_', id);
  const url = `/api/audit-logs?resource_id=${resource}&include=state&sort=sequence`;
  const { data } = (await service.call({ url, key: tenant.key })).body;
  const { rowsDone, rowsTotal, bytes } = failed;
  expect(data.at(-1).after).toMatchObject({
    outcome: 'failed',
    failure: 'aborted',
    rows: rowsDone,
    bytes,
  });
  expect(bytes).toBeGreaterThan(20_000);
  expect(rowsDone).toBeGreaterThan(0);
  expect(rowsDone).toBeLessThanOrEqual(rowsTotal ?? 0);
  await expectLogIntact(service, tenant.id);
}, 30_000);

test('an export that breaks on its way ends in a broken connection, not in a shorter file', async () => {
  const { port } = service.app.http.server.address() as { port: number };
  // The oldest event, and so the last line of the file,
  // was received at no moment that can be written.
  await service.owner.query(
    `UPDATE audit_events SET received_at = '20000-01-01' WHERE tenant_id = $1
      AND id = (SELECT min(id::text)::uuid FROM audit_events WHERE tenant_id = $1)`,
    [tenant.id],
  );
  const reading = fetch(`http://127.0.0.1:${port}${exportsUrl}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${tenant.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ filters: {}, format: 'ndjson' }),
  }).then((answer) => answer.text());
  // Whether the break is met with the head of the
  // answer or behind it: never a text that looks whole.
  await expect(reading).rejects.toThrow(/terminated|fetch failed/);
  const { body } = await service.call({ url: exportsUrl, key: tenant.key });
  const failed = await exportUntil(service, tenant.key, body.data[0].id, hasEnded);
  expect(failed).toMatchObject({ status: 'failed', error: expect.any(String) });
}, 30_000);

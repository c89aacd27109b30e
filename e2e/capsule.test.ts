import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import {
  type CapsuleContent,
  type CapsuleParts,
  capsuleFile,
  capsuleParts,
  type EventFilter,
  verifyCapsule,
} from '@indelible/protocol';
import { newFolder } from '@indelible/testing/folders';
import { expectLogIntact } from '@indelible/testing/intact';
import { actorWith, eventOf, testService } from '@indelible/testing/service';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { runCli } from '../packages/cli/src/testing/run-cli.ts';
import { sha } from '../packages/protocol/src/testing/recorded-log.ts';
import { builtPanel } from './built-panel.ts';
import { sharedChromium } from './chromium.ts';
import { violations } from './judge-page.ts';
import { see } from './panel-page.ts';

/* A saved search as a file that verifies itself: what it proves, and that each change shows. */

const day = 86_400_000;
const bo = { id: 'b7e1f5a0-2c4d-4e6f-8a9b-0c1d2e3f4a5b', email: 'bo@example.com' };
const hostile = '<img src=x onerror=alert(1)></script><script>alert(2)</script>\u202eevil';

const service = await testService();
await builtPanel();
const browser = await sharedChromium();
const folder = newFolder();

type Tenant = Awaited<ReturnType<typeof service.tenant>>;
const iso = (ms: number) => new Date(ms).toISOString();

async function record({ key }: Tenant, changes: Record<string, unknown> = {}): Promise<string> {
  const call = { method: 'POST', url: '/api/audit-logs', key, body: eventOf(changes) } as const;
  const { status, body, text } = await service.call(call);
  expect(status, text).toBe(201);
  return body.id;
}

const play = (actor: Record<string, unknown>, name = 'Call') => ({
  actor: actorWith(actor),
  action: 'play',
  diff: {},
  resource: { type: 'recording', id: '64f0f7f2-8f0a-4a51-9a58-5a3b7a3c2d1e', name },
});

/** A log that began a day before the range, with two plays of Bo's in it and four other events. */
async function history(): Promise<{ tenant: Tenant; range: EventFilter; ids: string[] }> {
  const tenant = await service.tenant();
  for (let n = 0; n < 3; n += 1) await record(tenant);
  service.clock.now += day;
  const from = service.clock.now - 1_000;
  const first = await record(tenant, play(bo, hostile));
  await record(tenant, play({ id: crypto.randomUUID(), email: 'else@example.com' }));
  await record(tenant, { actor: actorWith({ email: 'third@example.com' }) });
  service.clock.now += 1_000;
  const second = await record(tenant, { ...play(bo), before: { a: 1 }, after: { a: 2 } });
  service.clock.now += 1_000;
  return { tenant, range: { from, to: service.clock.now }, ids: [second, first] };
}

async function saved({ key }: Tenant, filters: object): Promise<string> {
  const url = '/api/audit-logs/searches';
  const { status, body, text } = await service.call({
    method: 'POST',
    url,
    key,
    body: { filters, note: 'Case 4711', unknown: true },
  });
  expect(status, text).toBe(201);
  return body.id;
}

const asked = ({ key }: Tenant, id: string) =>
  service.call({ method: 'POST', url: `/api/audit-logs/searches/${id}/capsule`, key });

async function capsule(tenant: Tenant, filters: object): Promise<string> {
  const { status, text, headers } = await asked(tenant, await saved(tenant, filters));
  expect(status, text.slice(0, 200)).toBe(200);
  expect(headers['content-disposition']).toMatch(
    /^attachment; filename="evidence-srch_\w+\.html"$/,
  );
  return text;
}

function partsOf(html: string): CapsuleParts {
  const parts = capsuleParts(html);
  if (parts === null) throw new Error('this is no capsule');
  return parts;
}

async function intact(html: string): Promise<CapsuleContent> {
  const { content, problems } = await verifyCapsule(sha, partsOf(html));
  expect(problems).toEqual([]);
  if (content === null) throw new Error('the capsule is damaged');
  return content;
}

const rangeOf = ({ from = 0, to = 0 }: EventFilter) => ({ from: iso(from), to: iso(to) });

test('a capsule holds every event of its range, shows the matches whole and of others what decides', async () => {
  const { tenant, range, ids } = await history();
  const html = await capsule(tenant, { ...rangeOf(range), user: bo.id, resource: 'recording' });
  const content = await intact(html);
  expect(content.matches.map(({ id }) => id)).toEqual(ids);
  expect(content).toMatchObject({ inRange: 4, unseen: 0, isSaved: true });
  expect(content.data.log.first).toBeGreaterThan(0);
  expect(content.data.coverage).toMatchObject({ eventsInRange: { value: 4, relation: 'eq' } });
  const { data } = partsOf(html);
  for (const shown of [bo.email, '203.0.113.7']) expect(data).toContain(shown);
  for (const hidden of ['else@example.com', 'third@example.com', 'maxWait']) {
    expect(data).not.toContain(hidden);
  }
  // With an address as the criterion, the addresses of the others are what decides.
  const byEmail = await capsule(tenant, { ...rangeOf(range), user: bo.email, action: 'play' });
  expect((await intact(byEmail)).matches.map(({ id }) => id)).toEqual(ids);
  expect(partsOf(byEmail).data).toContain('else@example.com');
  expect(partsOf(byEmail).data).not.toContain('third@example.com');
  await expectLogIntact(service, tenant.id);
});

test('an absence is proven event by event: nothing of the range can be left out', async () => {
  const { tenant, range, ids } = await history();
  const filters = { ...rangeOf(range), user: bo.email, action: 'delete' };
  expect(await intact(await capsule(tenant, filters))).toMatchObject({
    matches: [],
    inRange: 4,
    unknownValues: {},
  });
  // An attacker with the owner's rights removes a match, and has the service make the file.
  const id = await saved(tenant, { ...rangeOf(range), user: bo.id });
  const uuid = (await service.call({ url: `/api/audit-logs/${ids[0]}/proof`, key: tenant.key }))
    .body.sequence;
  await service.owner.query('DELETE FROM audit_events WHERE tenant_id = $1 AND sequence = $2', [
    tenant.id,
    uuid,
  ]);
  const content = await intact((await asked(tenant, id)).text);
  expect(content).toMatchObject({ inRange: 4, unseen: 1, isSaved: false });
  expect(content.matches).toHaveLength(1);
});

test('the tenant’s log records each capsule with the hash of its data', async () => {
  const { tenant, range } = await history();
  const id = await saved(tenant, rangeOf(range));
  const { data } = partsOf((await asked(tenant, id)).text);
  const sha256 = Buffer.from(sha(Buffer.from(data))).toString('hex');
  const url = `/api/audit-logs?action=download&include=state&resource=audit_log&resource_id=${tenant.id}`;
  const { body } = await service.call({ url, key: tenant.key });
  expect(body.data).toHaveLength(1);
  expect(body.data[0]).toMatchObject({
    category: 'data_access',
    recordedBy: { kind: 'service' },
    after: { searchId: id, sha256 },
  });
});

/** A capsule as small as one can be, because every byte of it is changed. */
async function smallCapsule(): Promise<string> {
  const tenant = await service.tenant('Pro');
  const from = service.clock.now;
  await record(tenant, play(bo, 'ü'));
  service.clock.now += 1_000;
  return capsule(tenant, { ...rangeOf({ from, to: service.clock.now }), user: bo.id });
}

test('a capsule with any byte of its data or record changed is damaged', async () => {
  const parts = partsOf(await smallCapsule());
  expect((await verifyCapsule(sha, parts)).code).toBe('intact');
  for (const name of ['data', 'record'] as const) {
    const text = parts[name];
    const survived: string[] = [];
    for (let at = 0; at < text.length; at += 1) {
      const other = String.fromCharCode(text.charCodeAt(at) ^ (1 << (at % 7)));
      const changed = { ...parts, [name]: text.slice(0, at) + other + text.slice(at + 1) };
      const { code } = await verifyCapsule(sha, changed);
      if (code !== 'damaged') survived.push(`${at}: ${text.slice(at - 20, at + 20)}`);
    }
    expect(survived).toEqual([]);
  }
});

/** Opens a file as a reader does who has no network; anything that it asks for is a failure. */
async function opened(bytes: string | Uint8Array, name: string): Promise<Page> {
  const path = join(folder, name);
  writeFileSync(path, bytes);
  const context = await browser.newContext({ locale: 'en-US', timezoneId: 'UTC' });
  const page = await context.newPage();
  const url = pathToFileURL(path).href;
  page.on('request', (request) => {
    if (request.url() !== url) throw new Error(`the capsule asked for ${request.url()}`);
  });
  page.on('dialog', (dialog) => {
    throw new Error(`hostile text ran: ${dialog.message()}`);
  });
  await page.goto(url);
  return page;
}

test('opened from disk it verifies itself, without a request, and hostile text stays text', async () => {
  const { tenant, range, ids } = await history();
  const html = await capsule(tenant, { ...rangeOf(range), user: bo.id });
  const page = await opened(html, 'capsule.html');
  await see(page.getByRole('heading', { name: 'This file is intact' })).toBeVisible();
  await see(page.getByRole('heading', { name: 'Case 4711' })).toBeVisible();
  await see(page.getByText('2 recorded events match.')).toBeVisible();
  await see(page.getByText(/has 4 events of this time range/)).toBeVisible();
  await see(
    page.getByText('Of the events whose content is in this file, exactly 2 match'),
  ).toBeVisible();
  const events = page.locator('.events li');
  await see(events).toHaveCount(2);
  await events.last().locator('summary').click();
  await see(events.last()).toContainText(ids[1] ?? '');
  await see(events.last()).toContainText('<img src=x onerror=alert(1)></script>');
  await see(events.last()).toContainText('⟨U+202E⟩evil');
  expect(await page.locator('img').count()).toBe(0);
  expect(await violations(page, 'a capsule')).toEqual([]);
  // Nothing leaves the page, even if something in it tried.
  const tried = `fetch('http://127.0.0.1:1/').then(() => 'sent', () => 'refused')`;
  expect(await page.evaluate(tried)).toBe('refused');
  await page.context().close();
});

test('a capsule about an unknown person says so first and in red, nowhere in green, and so does the command line', async () => {
  const { tenant, range } = await history();
  const html = await capsule(tenant, { ...rangeOf(range), user: 'rhea', action: 'play' });
  expect((await intact(html)).unknownValues).toEqual({ user: ['rhea'] });
  const page = await opened(html, 'unknown.html');
  const first = page.locator('main > *').first();
  await see(first).toHaveClass(/unknown/);
  await see(first).toContainText('This evidence shows nothing about these values');
  await see(first).toContainText('User: rhea');
  await see(page.locator('.intact')).toHaveCount(0);
  const red = `getComputedStyle(document.querySelector('.unknown')).borderColor`;
  expect(await page.evaluate<string>(red)).toMatch(/^rgb\((168, 38, 28|255, 160, 151)\)$/);
  expect(await violations(page, 'a capsule about an unknown person')).toEqual([]);
  await page.context().close();
  const { status, stdout } = await runCli(['verify', join(folder, 'unknown.html')]);
  expect(status).toBe(1);
  expect(stdout).toMatch(
    /UNPROVEN: .*\n\nNot proven\n {2}- Anything about user "rhea": it occurs in no event/,
  );
});

test('Chromium shows a changed file as damaged, and shows nothing of what it says', async () => {
  const bytes = Buffer.from(await smallCapsule());
  const start = bytes.indexOf('id="data">') + 10;
  const end = bytes.indexOf('</script>', start);
  // A letter, a byte that is no UTF-8, a line break, and the end of the element.
  const changes = { letter: 0x78, invalid: 0xff, return: 0x0d, end: 0x3c };
  for (const [name, byte] of Object.entries(changes)) {
    const changed = Buffer.from(bytes);
    changed[start + Math.floor((end - start) / 2)] = byte;
    const page = await opened(changed, `${name}.html`);
    await see(page.getByRole('heading', { name: /is damaged or was changed/ }), name).toBeVisible();
    await see(page.getByText('recorded event matches')).toHaveCount(0);
    await page.context().close();
  }
});

test('the command line verifies a capsule with a key from elsewhere', async () => {
  const html = await smallCapsule();
  const path = join(folder, 'evidence.html');
  writeFileSync(path, html);
  const { vkeys } = (await intact(html)).data;
  const fine = await runCli(['verify', path, '--vkey', vkeys[0] ?? '']);
  expect([fine.status, fine.stderr]).toEqual([0, '']);
  expect(fine.stdout).toContain('exactly 1 of those');
  // A page whose program was replaced may show another search.
  expect(fine.stdout).toContain(`match {"user":["${bo.id}"]}.`);
  const other = (await intact(await smallCapsule())).data.vkeys[0] ?? '';
  expect((await runCli(['verify', path, '--vkey', other])).status).toBe(1);
  writeFileSync(
    path,
    capsuleFile(html.replace(/>\{.*?<\/script>/g, '></script>'), {
      ...partsOf(html),
      data: partsOf(html).data.replace('Case 4711', 'Case 4712'),
    }),
  );
  const changed = await runCli(['verify', path]);
  expect(changed.status).toBe(1);
  expect(changed.stdout).toContain('not what the log recorded');
  writeFileSync(path, '<p>something else</p>');
  expect((await runCli(['verify', path])).status).toBe(2);
});

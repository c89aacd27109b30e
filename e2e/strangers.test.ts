import { randomUUID } from 'node:crypto';
import type { EventInput } from '@indelible/client';
import { eventOf } from '@indelible/testing/service';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { misfits, violations } from './judge-page.ts';
import { openPanel, operator } from './open-panel.ts';
import { detail, rows, see } from './panel-page.ts';
import { openSite } from './site.ts';
import { textsOf } from './spoken.ts';

/*
 * Who must not get in: other tenants, other sites,
 * those who found a link; and what events may hold.
 */

const stranger = await openSite();
const panel = await openPanel();
const ours = await panel.newTenant('Aurora Travel');
const theirs = await panel.newTenant('Secret Clinic');

const record = async (tenantId: string, changes: Record<string, unknown>) =>
  (await panel.record(tenantId, [changes]))[0] ?? '';

test('a fresh tenant sees calls with its own ids, until a product has recorded; a lost reader finds back', async () => {
  const tenantId = await panel.newTenant('Fresh');
  const page = await panel.enter({ tenantId });
  const steps = page.getByRole('region', { name: 'No product has recorded an event yet' });
  await see(steps.locator('pre')).toHaveText(
    [tenantId, tenantId, tenantId].map((id) => new RegExp(id)),
  );
  await see(steps.getByRole('link', { name: 'API reference' })).toHaveAttribute('href', '/docs');
  expect(await violations(page, 'first steps')).toEqual([]);
  const [call = ''] = await steps.locator('pre').allInnerTexts();
  const body = /-d '(.*)'$/.exec(call)?.[1] ?? '';
  const [stored] = await panel.client.recordBatch([JSON.parse(body) as EventInput]);
  expect(stored?.status).toBe('created');
  await record(tenantId, { actor: { id: randomUUID(), email: null, role: 'job', type: 'system' } });
  await page.reload();
  await see(rows(page).first()).toContainText('System');
  await see(steps).toHaveCount(0);
  await page.goto(`${panel.url}/settings/audit/no-such-page`);
  await page.getByRole('link', { name: 'Back to the events' }).click();
  await see(rows(page).first()).toBeVisible();
});

test('another tenant’s event, versions, kept search and export are not found, and nothing of them is shown', async () => {
  panel.allow(/^404 \/api\/audit-logs\//);
  const resource = { type: 'queue', id: randomUUID(), name: 'Oncology' };
  const states = { diff: undefined, before: { music: 'a' }, after: { music: 'b' } };
  const eventId = await record(theirs, { resource, ...states });
  const owner = await panel.enter({ tenantId: theirs });
  const made = await owner.evaluate<{ searchId: string; exportId: string }>(`(async () => {
    const post = async (path, body, headers) => (await fetch('/api/audit-logs' + path, {
      method: 'POST', body: JSON.stringify(body),
      headers: { 'content-type': 'application/json', ...headers },
    })).json();
    const { id: searchId } = await post('/searches', { filters: {}, note: 'Oncology' });
    const wanted = { filters: {}, format: 'csv' };
    const { id: exportId } = await post('/exports', wanted, { prefer: 'respond-async' });
    return { searchId, exportId };
  })()`);
  expect(made).toEqual({ searchId: expect.stringMatching(/^srch_/), exportId: expect.any(String) });

  const page = await panel.enter({ tenantId: ours });
  const shown: string[] = [];
  const look = async (path: string, sentence: string) => {
    await page.goto(`${panel.url}${path}`);
    await see(page.getByText(sentence).first()).toBeVisible();
    shown.push(await page.content());
  };
  await look(`/settings/audit/events/${eventId}`, 'This event does not exist');
  await look(`/settings/audit/resources/${resource.id}`, 'No complete states were recorded');
  await look(`/settings/audit/searches/${made.searchId}`, 'This page does not exist');
  await see(page.getByRole('link', { name: 'Back to the events' })).toBeVisible();
  await look(`/settings/audit/searches`, 'No search is saved yet');
  await look(`/settings/audit/exports`, 'No exports yet');
  await look(`/settings/audit/events?resource_id=${resource.id}&last=all`, 'No events found');
  const download = `/api/audit-logs/exports/${made.exportId}/download`;
  const answers = [
    await page.context().request.get(panel.url + download),
    await page.context().request.get(`${panel.url}/api/audit-logs/${eventId}/proof`),
  ];
  expect(answers.map((answer) => answer.status())).toEqual([404, 404]);
  shown.push(...(await Promise.all(answers.map((answer) => answer.text()))));
  expect(shown.filter((text) => /Oncology|Secret Clinic/.test(text))).toEqual([]);
});

test('of fifty people who redeem one link at once exactly one gets in', async () => {
  panel.allow(/^401 \/api\/session$/);
  const page = await panel.page();
  const link = await panel.link({ tenantId: ours });
  // A page of the panel that has no token of its own.
  await page.goto(`${panel.url}/enter`);
  const statuses = await page.evaluate<number[]>(`Promise.all(Array.from({ length: 50 }, () =>
    fetch('/api/session', {
      method: 'POST', headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ token: '${new URL(link).hash.slice(1)}' }),
    }).then(({ status }) => status)))`);
  expect(statuses.filter((status) => status === 200)).toHaveLength(1);
  expect(statuses.filter((status) => ![200, 401].includes(status))).toEqual([]);
  await page.goto(`${panel.url}/settings/audit/events`);
  await see(rows(page).first()).toBeVisible();
});

test('a link that mail scanners and previews have fetched still opens the panel, and leaves the address', async () => {
  const link = await panel.link({ tenantId: ours, path: '/settings/audit/events?action=create' });
  const { request } = await panel.context();
  for (const method of ['GET', 'HEAD', 'GET']) {
    expect((await request.fetch(link, { method })).status()).toBe(200);
  }
  const page = await panel.page();
  await page.goto(link);
  await see(rows(page).first()).toBeVisible();
  expect(page.url()).toBe(`${panel.url}/settings/audit/events?action=create`);
  await page.goBack();
  expect(page.url()).not.toContain('#');

  panel.allow(/^401 \/api\/session$/);
  const late = await panel.page();
  await late.goto(link);
  await see(late.getByText('This link is no longer valid')).toBeVisible();
});

test('a page of another origin can neither post with the session, nor show the panel, nor read it', async () => {
  const page = await panel.enter({ tenantId: ours });
  const around = `<!doctype html><title>Stranger</title><link rel="icon" href="data:,">
    <iframe src="${panel.url}/settings/audit/events"></iframe>
    <form method="post" action="${panel.url}/api/session" enctype="text/plain"><input name="a"></form>`;
  stranger.site.on('request', (_, response) =>
    response.setHeader('content-type', 'text/html').end(around),
  );
  // What the browser itself says of each refusal.
  panel.allow(/^console: |^403 /);
  const foreign = await page.context().newPage();
  await foreign.goto(stranger.url);
  await expect.poll(() => foreign.frames()[1]?.url()).toBe('chrome-error://chromewebdata/');
  const api = `${panel.url}/api`;
  const tries = await foreign.evaluate<string[]>(`(async () => {
    const attempt = (path, init) => fetch('${api}' + path, { credentials: 'include', ...init })
      .then(({ type, status }) => type + ' ' + status, () => 'refused');
    const headers = { 'content-type': 'application/json' };
    return [
      await attempt('/audit-logs'),
      await attempt('/session', { method: 'DELETE' }),
      await attempt('/audit-logs/searches', { method: 'POST', headers, body: '{"filters":{}}' }),
    ];
  })()`);
  expect(tries).toEqual(['refused', 'refused', 'refused']);
  // Without asking first: sent, and refused by the service.
  const answer = foreign.waitForResponse(`${api}/session`);
  await foreign.evaluate('document.forms[0].submit()');
  expect((await answer).status()).toBe(403);
  await page.reload();
  await see(rows(page).first()).toBeVisible();
  await page.goto(`${panel.url}/settings/audit/searches`);
  await see(page.getByText('No search is saved yet')).toBeVisible();
});

const nasty = {
  script: '<script>window.pwned = 1</script><img src=x onerror="window.pwned = 2">',
  template: '{{7*7}} javascript:alert(1) "\'><svg/onload=alert(3)>',
  rightToLeft: 'مرحبا \u202Etxt.exe\u202C עברית',
  emoji: '👩🏽‍🚒👨‍👩‍👧‍👦🏴󠁧󠁢󠁳󠁣󠁴󠁿 e\u0301',
  control: 'bell\u0007 \u001b[2Jescape \u200Bzero',
  long: 'long'.repeat(5_000),
};

test('script-looking, right-to-left, emoji and very long values are shown as the text they are', async () => {
  const tenantId = await panel.newTenant(nasty.script + nasty.rightToLeft);
  const resource = { type: 'ivr', id: randomUUID(), name: nasty.script };
  const spoken = { actor: { ...(eventOf().actor as object), userAgent: nasty.rightToLeft } };
  await record(tenantId, { ...spoken, resource, diff: undefined, before: {}, after: nasty });
  const long = { actor: { ...spoken.actor, email: `${'l'.repeat(150)}@example.com` } };
  const wide = { ...resource, id: randomUUID(), name: 'long'.repeat(50) };
  const wideId = await record(tenantId, {
    ...long,
    action: 'x'.repeat(60),
    resource: wide,
    diff: undefined,
    before: { long: nasty.long },
    after: {},
  });
  const id = await record(tenantId, {
    actor: { ...spoken.actor, email: null, type: 'agent', name: nasty.rightToLeft },
    onBehalfOf: [{ externalId: 'x', name: nasty.rightToLeft, role: '<b>' }],
    via: { channel: nasty.script, tool: nasty.rightToLeft },
    targets: [{ type: 'queue', externalId: 'y', name: nasty.rightToLeft }],
    metadata: { rightToLeft: nasty.rightToLeft, script: nasty.script },
    resource: { ...resource, name: nasty.rightToLeft },
    diff: undefined,
    before: nasty,
    after: { ...nasty, long: nasty.script, [nasty.script]: nasty.emoji },
  });
  const reason = nasty.script + nasty.rightToLeft;
  const page = await panel.enter({ tenantId, person: operator, reason });
  const path = '/settings/audit';
  await keepUnderNames(page, nasty.rightToLeft + wide.name.slice(0, 60));
  await record(tenantId, { resource });
  await panel.service.app.alerts.tick();
  // Invisible marks that turn the text beside them are shown by their codes.
  const shown = nasty.rightToLeft.replace('\u202E', '⟨U+202E⟩').replace('\u202C', '⟨U+202C⟩');
  for (const [address, text] of [
    [`${path}/events`, nasty.script],
    [`${path}/events/${id}`, nasty.emoji],
    [`${path}/resources/${resource.id}`, shown],
    [`${path}/operator-access`, nasty.script],
    [`${path}/integrity`, nasty.script],
    [`${path}/events/${wideId}`, wide.name],
    [`${path}/resources/${wide.id}`, wide.name],
    ...['views', 'searches', 'alerts'].map((kept) => [`${path}/${kept}`, shown] as const),
  ] as const) {
    await page.goto(panel.url + address);
    await see(page.locator('#content, header, section').getByText(text).first()).toBeAttached();
    await settled(page);
    expect(await injected(page)).toEqual([]);
    expect(await concealed(page), address).toEqual([]);
    expect(await misfits(page, new Set()), address).toEqual([]);
    expect(await tooWide(page), address).toEqual([]);
  }
  await page.goto(`${panel.url}${path}/events/${wideId}`);
  await see(detail(page).getByRole('heading', { level: 2 })).toHaveText(wide.name);
  const cut = `[...document.querySelectorAll('dd .value')]
    .filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)`;
  expect(await page.evaluate(`${cut}.length`)).toBe(0);
  await page.goto(`${panel.url}${path}/events/${id}`);
  await see(detail(page).getByRole('heading', { level: 2 })).toHaveText(shown);
  const facts = detail(page).locator('dl', { hasText: 'Metadata' }).first();
  expect((await facts.innerText()).split(shown)).toHaveLength(7);
});

test('null, absent, blanks, the empty text and the text “null” are told apart', async () => {
  const tenantId = await panel.newTenant('Told Apart');
  const resource = { type: 'ivr', id: randomUUID(), name: 'Values' };
  const blanks = '" \\n"';
  const before = { given: null, kept: '', lost: 'null', was: '' };
  const after = { given: 'null', kept: '', was: null, wide: ' \n' };
  const id = await record(tenantId, { resource, diff: undefined, before, after });
  const page = await panel.enter({ tenantId, person: operator, reason: 'a look' });
  await page.goto(`${panel.url}/settings/audit/events/${id}`);
  // Words for what is no text are in italics.
  const told = ['null', 'null', 'empty', 'null', 'null', blanks];
  await see(rows(page).filter({ hasText: 'given' }).locator('ul i')).toHaveText(['null', 'null']);
  await see(detail(page).locator('dl i')).toHaveText(told);
  await page.goto(`${panel.url}/settings/audit/resources/${resource.id}`);
  const compared = page.getByRole('table').locator('td');
  const ofBefore = ['null', 'empty', '"null"', 'empty', 'absent'];
  const ofAfter = ['"null"', 'empty', 'absent', 'null', blanks];
  const values = ofBefore.flatMap((text, at) => [text, ofAfter[at] ?? '']);
  await see(compared).toHaveText(values);
  await see(compared.locator('i')).toHaveText(values.filter((_, at) => at !== 1 && at !== 4));
});

/** A view, evidence and an alert rule. */
async function keepUnderNames(page: Page, name: string): Promise<void> {
  const kept = { views: { name, shared: true }, 'audit-logs/searches': { note: name } };
  const all = { ...kept, 'alert-rules': { name, kind: 'match' } };
  for (const [where, input] of Object.entries(all)) {
    const body = JSON.stringify({ ...input, filters: { action: 'update' } });
    const data = JSON.stringify({
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    });
    expect(await page.evaluate(`fetch('/api/${where}', ${data}).then((r) => r.status)`)).toBe(201);
  }
}

/** The page, or the event beside the list, where it is wider than its place. */
function tooWide(page: Page): Promise<string[]> {
  return page.evaluate<string[]>(`[...document.querySelectorAll('html, section[tabindex="-1"]')]
    .filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)
    .map(({ tagName, scrollWidth }) => tagName + ' ' + scrollWidth)`);
}

const settled = (page: Page) => page.waitForLoadState('networkidle');

/** Texts of the page, seen or only heard, with invisible marks outside of an emoji. */
async function concealed(page: Page): Promise<string[]> {
  const marks = /[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}]/u;
  const texts = await textsOf(page);
  return texts.filter((text) => marks.test(text.replace(/\p{RGI_Emoji}/gv, '')));
}

/** What markup in a value would have become. */
function injected(page: Page): Promise<string[]> {
  return page.evaluate<string[]>(`[
    ...(window.pwned === undefined ? [] : ['a script ran']),
    ...[...document.querySelectorAll('img[src="x"], body script:not([src]), b, [onload], [onerror]')]
      .map(({ outerHTML }) => outerHTML),
  ]`);
}

test('the reference page shows calls, messages of receivers and schemas to every visitor', async () => {
  panel.allow(/Applying inline style violates/); // of Swagger UI; the page is whole without it
  const page = await panel.page();
  await page.goto(`${panel.url}/docs`);
  for (const words of ['Record an event', 'Events that were recorded', 'AuditEventInput'])
    await page.getByText(words, { exact: true }).first().waitFor();
});

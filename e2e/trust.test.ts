import { randomBytes, randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { formatVerifierKey, portableSha256, uuidFromEventId } from '@indelible/protocol';
import { eraseNow, offboardNow, requester } from '@indelible/testing/erasure-setup';
import { eventOf } from '@indelible/testing/service';
import { jwtSecret, token } from '@indelible/testing/token';
import type { FrameLocator, Locator, Page } from 'playwright-core';
import decodeQR from 'qr/decode.js';
import { expect, test } from 'vitest';
import { settled } from './every-page.ts';
import { violations } from './judge-page.ts';
import { openPanel, operator, type Visit } from './open-panel.ts';
import { detail, filters, listedIds, rows, see, seeListed } from './panel-page.ts';
import { openSite } from './site.ts';

/*
 * What a tenant's admin is to believe: visits of operators, kept searches, proofs, and the session.
 */

const { site: host, url: hostUrl } = await openSite();
const panel = await openPanel({
  AUTH_JWT_SECRET: jwtSecret,
  FRAME_ANCESTORS: hostUrl,
  HOST_SIGN_IN_URL: `${hostUrl}/sign-in?from=audit`,
});
const tenantId = await panel.newTenant('Aurora Travel');

const enter = (visit: Partial<Visit> = {}): Promise<Page> => panel.enter({ tenantId, ...visit });

test('an operator’s visit shows its reason to the operator all along, and to the tenant afterwards', async () => {
  const reason = 'Ticket 4711: bookings were dropped';
  const visit = await enter({ person: operator, reason });
  const banner = visit.getByRole('region', { name: 'Operator' });
  await see(banner).toContainText('You are looking at Aurora Travel as an operator.');
  await see(banner).toContainText(reason);
  await visit.getByRole('link', { name: 'Integrity' }).click();
  await see(visit.getByRole('heading', { name: 'Latest checkpoint' })).toBeVisible();
  await see(banner).toContainText(reason);
  // Refused for want of a reason, which the tenant sees as well.
  const refused = panel.client.viewerLinks.create({ tenantId, actor: operator });
  await expect(refused).rejects.toThrow(/reason/);
  await panel.record(tenantId, [{ actor: { ...(eventOf().actor as object), role: 'superadmin' } }]);

  const page = await enter();
  await page.getByRole('link', { name: 'Operator access' }).click();
  const declared = rows(page).filter({ hasText: reason });
  await see(declared.first()).toContainText(operator.email);
  await see(declared.first()).toContainText('The service itself');
  const silent = rows(page).filter({ hasText: 'No reason declared' });
  await see(silent.filter({ hasText: 'API key' })).toHaveCount(1);
  // A key that made the link acted as an operator without a name: what tells it apart is its id.
  const nameless = rows(page).filter({ hasText: /no e-mail address · [0-9a-f]{8}/ });
  await see(nameless.first()).toContainText('The service itself');
  // One visit, which says what was looked at when it is opened.
  const visits = declared.filter({ hasText: operator.email });
  await see(visits).toHaveCount(1);
  await visits.getByRole('button', { name: /^What was looked at/ }).click();
  const looks = page.getByRole('list', { name: 'What was looked at' });
  await see(looks.getByText(/^Events · Time range: \w+ \d+, .* – /)).toHaveCount(1);
  await see(looks.getByText('The whole log, as for verifying it')).toHaveCount(1);
  expect(await violations(page, 'an open visit')).toEqual([]);
  // The service counts what has no reason, and finds it.
  await see(page.getByText('without a reason', { exact: true })).toBeVisible();
  await page.getByRole('button', { name: 'Without a reason' }).click();
  await see(rows(page)).toHaveCount(await silent.count());
  await see(declared).toHaveCount(0);
});

test('the service’s routine is hidden and stays so; an operator’s acts and explicit filters do not', async () => {
  const page = await enter();
  const signIns = rows(page).filter({ hasText: 'Log in' });
  const [own, operators] = ['ana@example.com', operator.email].map((hasText) => {
    return signIns.filter({ hasText });
  }) as [Locator, Locator];
  await see(own.first()).toBeVisible();
  const fold = page.getByRole('button', { name: 'Hide routine events' });
  await fold.click();
  await see(own).toHaveCount(0);
  await see(operators.first()).toBeVisible();
  await see(page.getByText(/routine events? hidden on this page/)).toBeVisible();
  await page.reload();
  await see(fold).toHaveAttribute('aria-pressed', 'true');
  await see(operators.first()).toBeVisible();
  await see(own).toHaveCount(0);
  await page.goto(`${panel.url}/settings/audit/events?action=login`);
  await see(own.first()).toBeVisible();
  await see(fold).toHaveCount(0);
});

test('an operator whom the host page hands over says why first, and without a reason sees nothing', async () => {
  panel.allow(/^40[13] \/api\/session$/);
  const page = await (await panel.context()).newPage();
  const frame = await embed(page, await operatorToken('superadmin'));
  await see(frame.getByRole('heading', { name: /^Why do you need/ })).toBeVisible();
  await see(frame.getByRole('button', { name: 'Record and continue' })).toBeDisabled();
  await see(frame.getByRole('table')).toHaveCount(0);
  await frame.getByLabel('Reason').fill('Ticket 4712: asked to look');
  await frame.getByRole('button', { name: 'Record and continue' }).click();
  await see(frame.getByRole('region', { name: 'Operator' })).toContainText('Ticket 4712');
  await see(frame.locator('tr.row').first()).toBeVisible();
});

const operatorToken = (role: string) => token({ sub: operator.id, email: operator.email, role });

/** A page of the host product with the panel in a frame; it answers as docs/panel.md says. */
async function embed(page: Page, jwt: string): Promise<FrameLocator> {
  const script = `addEventListener('message', ({ origin, source, data }) => {
    const frame = document.querySelector('iframe').contentWindow;
    if (origin !== '${panel.url}' || source !== frame || data?.type !== 'indelible:ready') return;
    frame.postMessage({ type: 'indelible:token', jwt: '${jwt}', tenantId: '${tenantId}' }, origin);
  });`;
  const html = `<!doctype html><title>Host</title><script>${script}</script>
    <iframe src="${panel.url}/settings/audit/events" width="1200" height="800"></iframe>`;
  host.removeAllListeners('request');
  host.on('request', (request, response) => {
    if (request.url !== '/') return response.writeHead(204).end();
    return response.setHeader('content-type', 'text/html').end(html);
  });
  await page.goto(hostUrl);
  return page.frameLocator('iframe');
}

test('a kept search tells whether its answer is the same, has grown since, or is another one', async () => {
  const suspect = { ...(eventOf().actor as object), email: 'prado@example.com' };
  const recording = { type: 'recording', id: randomUUID(), name: 'Call 1' };
  const access = { actor: suspect, action: 'access', resource: recording, diff: {} };
  const [first = ''] = await panel.record(tenantId, [access]);
  const search = '/settings/audit/events?user=prado%40example.com&resource=recording';
  const page = await enter({ path: search });
  await seeListed(page, [first]);
  await page.getByRole('button', { name: 'Save as evidence' }).click();
  const title = page.getByLabel('Title');
  await see(title).toBeFocused();
  await see(page.getByRole('button', { name: 'Save', exact: true })).toBeDisabled();
  await page.keyboard.type('Case 4711');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await see(page.getByRole('heading', { name: 'Case 4711' })).toBeVisible();
  const verdict = page.getByRole('status').filter({ hasText: 'The result' });
  await see(verdict).toContainText('The result is still the same');
  await see(page.getByRole('heading', { name: 'What this does not show' })).toBeVisible();
  const address = page.url();

  // Reported late, about a moment that the kept range holds.
  const timestamp = new Date(Date.now() - 3_600_000).toISOString();
  await panel.record(tenantId, [{ ...access, timestamp }]);
  await page.goto(`${panel.url}/settings/audit/searches`);
  await page.getByRole('link', { name: 'Case 4711' }).click();
  await see(verdict).toContainText('recorded 1 more matching event');
  const counts = page.getByRole('row', { name: /^Matching events/ }).getByRole('cell');
  await see(counts).toHaveText(['1', '2']);
  expect(page.url()).toBe(address);

  await panel.service.owner.query(
    "UPDATE audit_events SET resource_type = 'queue' WHERE tenant_id = $1 AND id = $2",
    [tenantId, uuidFromEventId(first)],
  );
  await page.reload();
  await see(verdict).toContainText('The result has changed');
});

/** What a scanner reads on the paper. */
async function scanned(page: Page): Promise<string> {
  const code = `(async () => {
    const svg = document.querySelector('svg[role="img"].print-only').cloneNode(true);
    svg.setAttribute('xmlns', 'http://www.w3.org/2000/svg');
    for (const name of ['width', 'height']) svg.setAttribute(name, '400');
    const image = new Image(400, 400);
    image.src = 'data:image/svg+xml,' + encodeURIComponent(svg.outerHTML);
    await image.decode();
    const canvas = new OffscreenCanvas(400, 400).getContext('2d');
    canvas.drawImage(image, 0, 0, 400, 400);
    return new Uint8Array(canvas.getImageData(0, 0, 400, 400).data.buffer).toBase64();
  })()`;
  const data = Buffer.from(await page.evaluate<string>(code), 'base64');
  return decodeQR({ width: 400, height: 400, data });
}

test('that a filter found no access is told apart from that there was none', async () => {
  const id = await panel.newTenant('Quiet');
  const page = await enter({ tenantId: id, path: '/settings/audit/operator-access?action=delete' });
  const noAccess = page.getByRole('heading', { name: 'No operator accessed your data' });
  await see(page.getByRole('heading', { name: 'No events found' })).toBeVisible();
  await see(noAccess).toHaveCount(0);
  await page.getByRole('button', { name: 'Without “Action”' }).click();
  await see(noAccess).toBeVisible();
  await page.getByRole('link', { name: 'Sensitive access' }).click();
  await see(page.getByRole('heading', { name: 'There was no access' })).toBeVisible();
});

test('a recording and a person are chosen by name, of which the filter keeps the id', async () => {
  const id = await panel.newTenant('Named');
  const named = { type: 'recording', id: randomUUID(), name: 'Call of Ms Prado' };
  const actor = { ...(eventOf().actor as object), email: 'prado@example.com', name: 'Lucía Prado' };
  await panel.record(id, [{ actor, action: 'play', resource: named, diff: {} }, {}]);
  const page = await enter({ tenantId: id });
  const bar = filters(page);
  const pick = async (filter: string, typed: string, option: RegExp) => {
    await bar.getByRole('button', { name: filter, exact: true }).click();
    const words = page.getByRole('dialog', { name: filter }).getByRole('searchbox');
    await see(words).toBeFocused();
    await page.keyboard.type(typed);
    await page.getByRole('option', { name: option }).click();
    await page.keyboard.press('Escape');
  };
  // Part of a word is enough for what is among the newest events.
  await pick('Resource ID', 'rado', /^Call of Ms Prado/);
  await see(page).toHaveURL(new RegExp(`resource_id=${named.id}`));
  await see(bar.getByRole('button', { name: 'Resource ID Call of Ms Prado' })).toBeVisible();
  await pick('User', 'lucía', /^Lucía Prado · prado@example.com/);
  await see(page).toHaveURL(/user=prado%40example\.com/);
  await see(rows(page)).toHaveCount(1);

  // Also those of whom no event is in the search; a person of no event is marked.
  await page.goto(`${panel.url}/settings/audit/events?action=login&last=15m`);
  await pick('User', 'prado', /^(Lucía Prado · )?prado@example.com$/);
  await see(page).toHaveURL(/user=prado%40example\.com/);
  await pick('Resource ID', 'call of', /^Call of Ms Prado$/);
  await page.goto(`${panel.url}/settings/audit/events`);
  await pick('User', 'rhea', /^rhea \(in no event\)$/);
  await see(page).toHaveURL(/user=rhea/);
});

test('evidence about a person whom no event names is refused with a way on, or shown in red, on paper too', async () => {
  const id = await panel.newTenant('Rhea');
  const actor = { ...(eventOf().actor as object), email: 'prado@example.com' };
  const recording = { type: 'recording', id: randomUUID(), name: 'Call 3205' };
  await panel.record(id, [{ actor, action: 'play', resource: recording, diff: {} }]);
  const page = await enter({ tenantId: id, path: '/settings/audit/events?user=rhea&action=play' });
  await page.getByRole('button', { name: 'Save as evidence' }).click();
  await page.getByLabel('Title').fill('Rhea did not access call 3205');
  panel.allow(/^422 /);
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  const sheet = page.getByRole('dialog');
  const refusal = sheet.getByRole('status');
  await see(refusal).toContainText('No event has these values');
  await see(refusal).toContainText('User: rhea');
  await see(sheet.getByRole('alert')).toHaveCount(0);
  expect(await violations(page, 'refused evidence')).toEqual([]);
  await sheet.getByRole('button', { name: 'Save anyway' }).click();

  await see(page.getByRole('heading', { name: 'Rhea did not access call 3205' })).toBeVisible();
  const seeRed = async () => {
    const first = page.locator('main#content [role="status"]').first();
    await see(first).toContainText('This evidence shows nothing about these values');
    await see(first).toContainText('User: rhea');
    const isFirst = `(() => {
      const [box, title] = document.querySelectorAll('main#content [role="status"], main#content h1');
      return box.matches('.text-del') && title.matches('h1') && !document.querySelector('main .text-add');
    })()`;
    expect(await page.evaluate<boolean>(isFirst)).toBe(true);
  };
  await seeRed();
  expect(await violations(page, 'evidence about an unknown person')).toEqual([]);
  await page.emulateMedia({ media: 'print' });
  await seeRed();
  await page.emulateMedia({ media: null });
  await page.goto(`${panel.url}/settings/audit/searches`);
  await see(page.getByText('Shows nothing about User: rhea')).toBeVisible();

  // What an earlier build saved is judged when it is opened.
  const { owner } = panel.service;
  await owner.query('UPDATE searches SET unknown_values = NULL WHERE tenant_id = $1', [id]);
  await page.getByRole('link', { name: 'Rhea did not access call 3205' }).click();
  await see(page.getByRole('status').first()).toContainText('shows nothing about these values');
});

test('evidence says what it could find, warns of an empty time, and prints whole on either side of paper', async () => {
  const id = await panel.newTenant('Borealis');
  const recording = { type: 'recording', id: randomUUID(), name: 'Call 2' };
  const source = (sequence: number) => ({ source: { id: 'billing', sequence } });
  await panel.record(id, [source(0), { action: 'play', resource: recording, diff: {} }, source(1)]);
  const page = await enter({ tenantId: id });
  const saved = (filters: object) =>
    page.evaluate<string>(`fetch('/api/audit-logs/searches', {
      method: 'POST', headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ filters: ${JSON.stringify(filters)}, note: 'Works council', unknown: true }),
    }).then(async (answer) => (await answer.json()).id)`);
  const nobody = await saved({ user: 'nobody@example.com', resourceId: recording.id });
  await page.goto(`${panel.url}/settings/audit/searches/${nobody}`);
  const coverage = page.locator('section').filter({ hasText: 'What the search could find' });
  await see(coverage).toContainText('nobody@example.com: 0 events at any time');
  await see(coverage).toContainText(`${recording.id}: 1 event at any time`);
  await see(coverage.getByRole('status')).toHaveCount(0);
  const noGaps = page.getByText(/^No numbered event of these sources is missing .* billing\.$/);
  await see(noGaps).toBeVisible();

  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Download capsule' }).click(),
  ]);
  expect(download.suggestedFilename()).toBe(`evidence-${nobody}.html`);
  await see(page.getByRole('status').filter({ hasText: `evidence-${nobody}.html` })).toBeVisible();

  // The width of A4, upright and across, without its margins.
  await page.emulateMedia({ media: 'print' });
  for (const width of [688, 1017]) {
    await page.setViewportSize({ width, height: 900 });
    for (const text of [nobody, `/searches/${nobody}`, '\u2014 ', '+']) {
      await see(page.locator('section').last()).toContainText(text);
    }
    await see(page.getByRole('img', { name: page.url() })).toBeVisible();
    const overflow = 'document.documentElement.scrollWidth - innerWidth';
    expect(await page.evaluate<number>(overflow)).toBeLessThanOrEqual(0);
  }
  expect(await scanned(page)).toBe(page.url());
  // Firefox prints an empty page for what is as tall as the window.
  await page.setViewportSize({ width: 688, height: 4_000 });
  const end = `document.querySelector('main').getBoundingClientRect().bottom`;
  expect(await page.evaluate<number>(end)).toBeLessThan(4_000);
  await page.emulateMedia({ media: null });
  await page.setViewportSize({ width: 1440, height: 900 });

  // Two lost numbers, and a time in which nothing was recorded at all.
  await panel.record(id, [source(4)]);
  await page.reload();
  await see(noGaps).toHaveCount(0);
  await see(page.getByText(/What happened in the events 2–3 of the source billing/)).toBeVisible();
  const empty = await saved({ from: '2020-01-01', to: '2020-01-02' });
  await page.goto(`${panel.url}/settings/audit/searches/${empty}`);
  await see(coverage.getByRole('status')).toContainText('No event at all was recorded');
  expect(await violations(page, 'evidence of an empty time')).toEqual([]);
});

test('a page of events verifies in the browser, and no longer once one is changed in the database', async () => {
  const id = await panel.newTenant('Verified');
  const ids = await panel.record(id, [{}, {}, {}]);
  const page = await panel.enter({ tenantId: id, path: '/settings/audit/integrity' });
  await page.getByRole('button', { name: /^Verify the latest/ }).click();
  await see(page.getByText(/^All \d+ events are in the signed log$/)).toBeVisible();
  await see(page.getByText('Valid, checked by your browser')).toBeVisible();

  // A proof that could not be had is no proof that something is wrong.
  panel.allow(/ERR_FAILED/);
  await page.route('**/proof', (route) => route.abort());
  await page.getByRole('button', { name: /^Verify the latest/ }).click();
  await see(page.getByRole('alert')).toContainText('The service did not answer');
  await see(page.getByText(/signed log$/)).toHaveCount(0);
  await page.unroute('**/proof');

  const { rowCount } = await panel.service.owner.query(
    "UPDATE audit_events SET actor_email = 'somebody.else@example.com' WHERE tenant_id = $1 AND sequence = 3",
    [id],
  );
  expect(rowCount).toBe(1);
  await page.reload();
  await page.getByRole('button', { name: /^Verify the latest/ }).click();
  await see(page.getByText('1 event does not match the signed log')).toBeVisible();
  await page.goto(`${panel.url}/settings/audit/events/${ids[2]}`);
  await see(detail(page).getByRole('alert')).toContainText('The proof is not valid');
});

test('an answer without the states of an event is not the event that was recorded', async () => {
  const id = await panel.newTenant('Curtailed');
  const [eventId] = await panel.record(id, [{ before: { limit: 5 }, after: { limit: 500 } }]);
  const page = await panel.enter({ tenantId: id });
  await page.route(`**/api/audit-logs/${eventId}`, async (route) => {
    const answer = await route.fetch();
    const { before: _before, after: _after, ...json } = await answer.json();
    await route.fulfill({ response: answer, json });
  });
  await page.goto(`${panel.url}/settings/audit/events/${eventId}`);
  await see(detail(page).getByRole('alert')).toContainText('The proof is not valid');
});

test('the log since the last visit: grown, older than it was, or another one', async () => {
  const id = await panel.newTenant('Returning');
  const record = async () => {
    await panel.record(id, [{}]);
    await panel.service.app.checkpoints.tick();
  };
  await record();
  const notes: Buffer[] = [];
  const page = await panel.enter({ tenantId: id });
  await page.route('**/api/audit-logs/checkpoint*', async (route) => {
    const answer = await route.fetch();
    notes.push(await answer.body());
    await route.fulfill({
      response: answer,
      body: notes.at(notes.length === 3 ? 0 : -1) ?? '',
    });
  });
  const look = async (text: string | RegExp) => {
    await page.goto(`${panel.url}/settings/audit/integrity`);
    await see(page.getByText(text)).toBeVisible();
  };
  await look('This browser has stored this checkpoint.');
  await record();
  await look(/^The log grew from \d+ to \d+ entries/);
  await look(/^The service showed an older state of the log: \d+ entries, but \d+ on your last/);
  await page.evaluate(`localStorage.setItem('indelible.checkpoint.${id}', localStorage
    .getItem('indelible.checkpoint.${id}').replace(/"origin":"[^"]*/, '"origin":"former.example/l/0'))`);
  await look('This is another log than the one that this browser saw before, former.example/l/0.');
  const compare = page.getByRole('button', { name: 'Compare with this log from now on' });
  await compare.click();
  await page.getByRole('button', { name: 'Cancel' }).click();
  await page.reload();
  await compare.click();
  await page.getByRole('button', { name: 'Compare with this log', exact: true }).click();
  await see(page.getByText('This browser has stored this checkpoint.')).toBeVisible();
  await look('The log has not changed since your last visit.');
  await page.evaluate(`localStorage.setItem('indelible.checkpoint.${id}', localStorage
    .getItem('indelible.checkpoint.${id}').replace(/"rootHex":"[^"]*/, '"rootHex":"${'0'.repeat(64)}'))`);
  await look(/^Earlier entries have changed/);
  await see(compare).toHaveCount(0);
});

test('the panel names the key in use among several', async () => {
  const id = await panel.newTenant('Rotated');
  await panel.record(id, [{}]);
  const page = await panel.enter({ tenantId: id });
  let used = '';
  await page.route('**/.well-known/indelible-log.json*', async (route) => {
    const answer = await route.fetch();
    const { keys, ...json } = await answer.json();
    used = keys[0].vkey;
    const former = formatVerifierKey(portableSha256, used.split('+')[0] ?? '', randomBytes(32));
    await route.fulfill({ response: answer, json: { ...json, keys: [...keys, { vkey: former }] } });
  });
  await page.goto(`${panel.url}/settings/audit/integrity`);
  await see(page.getByText('Valid, checked by your browser')).toBeVisible();
  await see(page.getByText(used)).toBeVisible();
});

test('erased parts of an event say so in list and detail, and the rest is still proven', async () => {
  const id = await panel.newTenant('Forgetful');
  const states = { diff: undefined, before: { token: 'a' }, after: { token: 'b' } };
  const [eventId = ''] = await panel.record(id, [states]);
  await panel.record(id, [{ actor: { ...(eventOf().actor as object), role: 'superadmin' } }]);
  await eraseNow(panel.service, { tenantId: id, actor: 'ana@example.com' });
  await eraseNow(panel.service, { tenantId: id, eventId, segment: 'state' });
  await eraseNow(panel.service, { tenantId: id, eventId, segment: 'change' });

  const page = await enter({ tenantId: id });
  const row = rows(page).filter({ has: page.locator(`a[href*="${eventId}"]`) });
  await see(row).toContainText('Partly erased');
  await see(row).not.toContainText('no e-mail address');
  await row.getByRole('link').click();
  await see(detail(page)).toContainText('Part of this event was erased');
  await see(detail(page)).toContainText('the person’s e-mail address');
  await see(detail(page)).toContainText('the states before and after');
  await see(detail(page)).not.toContainText('No field changes');
  await detail(page).getByText('Verified by your browser').click();
  await see(detail(page)).toContainText('The log holds only salted hashes of the erased values');
  await detail(page).getByRole('link', { name: 'See what was erased, and why' }).click();
  await see(rows(page)).toHaveCount(3);
  await see(rows(page).first()).toContainText(requester.reason);
  await page.goto(
    `${panel.url}/settings/audit/resources/${(eventOf().resource as { id: string }).id}`,
  );
  await see(page.getByText('The states of 1 change were erased.')).toBeVisible();
});

test('the panel of a tenant that has left says so on every page, and what is left still verifies', async () => {
  const id = await panel.newTenant('Gone Travel');
  await panel.record(id, [{}, {}]);
  await panel.service.app.checkpoints.tick();
  await offboardNow(panel.service, id);

  const page = await enter({ tenantId: id });
  const notice = page.getByRole('region', { name: 'The audit log of Gone Travel is closed.' });
  await see(notice).toContainText('it takes no new events');
  await see(rows(page).filter({ hasText: 'Delete' })).toContainText(requester.reason);
  await page.getByRole('link', { name: 'Integrity' }).click();
  await see(notice).toBeVisible();
  await page.getByRole('button', { name: /^Verify the latest/ }).click();
  await see(page.getByText(/^All \d+ events are in the signed log$/)).toBeVisible();
  await page.getByRole('link', { name: 'Webhooks' }).click();
  await see(page.getByText('the service sends nothing')).toBeVisible();
  await see(page.getByRole('button', { name: 'Add a webhook' })).toBeDisabled();
});

test('a session that has ended keeps the address, and a new link leads back to the same search', async () => {
  panel.allow(/^401 /);
  const page = await enter({ path: '/settings/audit/events?action=update&last=90d' });
  const before = await listedIds(page);
  const address = page.url();
  await settled(page);
  panel.later(31 * 60_000);
  await page.getByRole('button', { name: 'Refresh' }).click();
  await see(page.getByRole('heading', { name: 'Your session has ended' })).toBeVisible();
  await see(page.locator('tr.row')).toHaveCount(0);
  expect(page.url()).toBe(address);

  await enter({ context: page.context() });
  await page.getByRole('button', { name: 'I have signed in again' }).click();
  await seeListed(page, before);
  expect(page.url()).toBe(address);
});

test('a permalink opened without a session leads through the sign-in of the host to that very search', async () => {
  panel.allow(/^401 /);
  const signIn = async (incoming: IncomingMessage, response: ServerResponse) => {
    const { searchParams } = new URL(incoming.url ?? '', 'http://host.invalid');
    if (!searchParams.has('return_to')) return;
    expect(searchParams.get('from')).toBe('audit');
    const path = searchParams.get('return_to') ?? '';
    response.writeHead(303, { location: await panel.link({ tenantId, path }) }).end();
  };
  host.removeAllListeners('request').on('request', signIn);
  const page = await panel.page();
  const address = `${panel.url}/settings/audit/events?user=ana%40example.com&last=all`;
  await page.goto(address);
  await see(page.getByRole('heading', { name: 'Sign in to see this search' })).toBeVisible();
  await page.getByRole('link', { name: 'Sign in', exact: true }).click();
  await see(page.getByRole('button', { name: /^User ana@example\.com/ })).toBeVisible();
  expect(page.url()).toBe(address);
});

import { envOf } from '@indelible/testing/archived';
import { atEnd } from '@indelible/testing/at-end';
import { Backups } from '@indelible/testing/backup';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { reopenLog } from '../packages/server/src/operations/reopen.command.ts';
import { openPanel } from './open-panel.ts';
import { detail, see } from './panel-page.ts';

const panel = await openPanel();
const backups = new Backups(panel.service);
atEnd(() => backups.drop());
const path = '/settings/audit/integrity';
const published = () => panel.service.app.checkpoints.tick();

/** What the page says of the log since the last visit of this browser. */
const history = (page: Page) =>
  page.locator('section').filter({ has: page.getByText('Since your last visit') });

test('after a reopening the panel shows its record, and an alarm only to a browser that saw what is lost', async () => {
  const tenantId = await panel.newTenant('Rewound');
  const record = () => panel.record(tenantId, [{}]).then(published);
  const enter = (page?: Page) =>
    panel.enter({ tenantId, path, ...(page && { context: page.context() }) });
  const seeStored = async (page: Page) => {
    await see(history(page)).toContainText('This browser has stored this checkpoint.');
    // The lists too: a backup ends the statements that are under way.
    await see(page.getByRole('button', { name: /^Verify the latest/ })).toBeEnabled();
    await see(page.getByText(/^\d+ events?$/)).toBeVisible();
  };
  await record();
  const early = await enter();
  await seeStored(early);
  const backup = await backups.take();
  await record();
  const late = await enter();
  await seeStored(late);
  await published();
  // A page that is open asks again when it gets the focus: not of a database that is gone.
  for (const page of [early, late]) await page.goto('about:blank');

  await backups.restore(backup);
  await published();
  expect(await reopenLog(envOf(panel.service))).toContainEqual(
    expect.objectContaining({ tenantId }),
  );
  await published();

  const kept = await enter(early);
  await see(history(kept)).toContainText(/This log continues \S+ under a new name/);
  await see(history(kept)).toContainText('that it saw before are unchanged');
  await see(kept.getByRole('alert')).toHaveCount(0);
  const lost = await enter(late);
  await see(lost.getByRole('alert')).toContainText('Entries are lost.');
  await lost.getByRole('link', { name: 'The service’s record of it' }).click();
  await see(detail(lost)).toContainText('Reopen');
  await see(detail(lost)).toContainText('Verified by your browser');

  await lost.goBack();
  await lost.getByRole('button', { name: 'Compare with this log from now on' }).click();
  await lost.getByRole('button', { name: 'Compare with this log', exact: true }).click();
  await seeStored(lost);
  await see(lost.getByRole('alert')).toHaveCount(0);
});

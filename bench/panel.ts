import { randomUUID } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { openChromium } from '../e2e/chromium.ts';
import type { BenchService } from './bench-service.ts';
import type { Report, Size } from './report.ts';
import { seedEvents } from './seed.ts';

/**
 * From the click on a viewer link to the first events
 * on the page, in a browser with nothing cached.
 */
export async function benchPanel(
  service: BenchService,
  report: Report,
  { count: events, rounds }: Size,
): Promise<void> {
  const { id: tenantId } = await service.tenant('events:read');
  await seedEvents(service, tenantId, events);
  const browser = await openChromium();
  try {
    /** In a browser with nothing cached. */
    const until = (address: () => Promise<string>, shown: string) => async () => {
      const link = await address();
      const context = await browser.newContext({ locale: 'en-US', timezoneId: 'UTC' });
      const page = await context.newPage();
      const started = performance.now();
      await page.goto(link);
      await page.locator(shown).first().waitFor();
      const took = performance.now() - started;
      await context.close();
      return took;
    };
    const bare = until(async () => `${service.url}/healthz`, 'body');
    await report.compare(
      {
        what: `panel: first events visible, of ${events}`,
        unit: 'ms',
        target: { most: 1_000 },
        measure: until(() => viewerLink(service, tenantId), 'table tbody tr a'),
        limit: { what: 'a page of one line', measure: bare },
      },
      rounds,
    );
  } finally {
    await browser.close();
  }
}

async function viewerLink(service: BenchService, tenantId: string): Promise<string> {
  const actor = { id: randomUUID(), email: 'ana@example.com', role: 'admin' };
  const body = { tenantId, actor };
  return (await service.call<{ url: string }>('POST', '/api/viewer-links', body)).url;
}

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
    const times: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const link = await viewerLink(service, tenantId);
      const context = await browser.newContext({ locale: 'en-US', timezoneId: 'UTC' });
      const page = await context.newPage();
      const started = performance.now();
      await page.goto(link);
      await page.locator('table tbody tr a').first().waitFor();
      times.push(performance.now() - started);
      await context.close();
    }
    times.sort((a, b) => a - b);
    const [best = 0, median = 0] = [times[0], times[Math.floor(rounds / 2)]];
    const met = median <= 1_000 ? 'yes' : 'no';
    const figure = `median ${Math.round(median)} ms, best ${Math.round(best)} ms`;
    report.add(`panel: first events visible, of ${events}`, figure, '≤ 1000 ms', met);
  } finally {
    await browser.close();
  }
}

async function viewerLink(service: BenchService, tenantId: string): Promise<string> {
  const actor = { id: randomUUID(), email: 'ana@example.com', role: 'admin' };
  const body = { tenantId, actor };
  return (await service.call<{ url: string }>('POST', '/api/viewer-links', body)).url;
}

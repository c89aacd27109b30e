import { afterAll, expect, test } from 'vitest';
import { verifiedService } from '../testing/verified-service.ts';
import { reportText } from './report-text.ts';

const log = await verifiedService();
afterAll(() => log.close());

test('x', async () => {
  const t = performance.now();
  const report = await log.verify();
  console.log(reportText(report), performance.now() - t);
  console.log(JSON.stringify(report, null, 1).slice(0, 3000));
});

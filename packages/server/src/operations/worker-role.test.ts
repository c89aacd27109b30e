import { askForJob, exportUntil, hasEnded } from '@indelible/testing/exports';
import { platformKey, testService } from '@indelible/testing/service';
import { expect, test } from 'vitest';
import { startService } from '../main.ts';

test('a worker alone makes what others were asked for, and answers only its operator', async () => {
  const api = await testService();
  const { dataDir: DATA_DIR, servingUrl: DATABASE_URL } = api;
  const env = { DATA_DIR, DATABASE_URL, PLATFORM_API_KEY: platformKey, LOG_LEVEL: 'fatal' };
  const worker = await startService({ ...env, PORT: '0' }, ['worker']);
  try {
    const { key } = await api.tenant();
    const job = await askForJob(api, key);
    expect((await exportUntil(api, key, job.id, hasEnded)).status).toBe('ready');
    const statusOf = async (path: string) => {
      const headers = { authorization: `Bearer ${key}` };
      return (await fetch(worker.url + path, { headers })).status;
    };
    for (const path of ['/healthz', '/readyz', '/metrics']) expect(await statusOf(path)).toBe(200);
    for (const path of ['/api/audit-logs', '/docs', '/openapi.json', '/settings/audit', '/']) {
      expect(await statusOf(path), path).toBe(404);
    }
  } finally {
    await worker.stop();
    await api.close();
  }
});

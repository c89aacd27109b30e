import { testService } from '@indelible/testing/service';
import { hookedTenant, webhookCalls } from '@indelible/testing/webhook-setup';

export const metricsToken = 'a-token-for-the-scraper';

/** A service in which everything that has a metric has happened once. */
export async function busyService() {
  const service = await testService({ METRICS_TOKEN: metricsToken, WEBHOOK_ALLOW_PRIVATE: 'true' });
  const tenant = await hookedTenant(service);
  const webhooks = webhookCalls(service, tenant);
  await webhooks.create();
  await webhooks.record();
  await service.call({ url: '/api/audit-logs', key: tenant.key });
  await service.call({ url: '/api/audit-logs', key: null });
  await service.app.webhooks.tick();
  await service.app.checkpoints.tick();
  await service.app.background.run('sources');
  return {
    service,
    close: async () => {
      await service.close();
      await tenant.receiver.close();
    },
  };
}

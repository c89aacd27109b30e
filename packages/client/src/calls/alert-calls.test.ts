import { expect, test } from 'vitest';
import { createClient } from '../index.ts';
import { scriptedService } from '../testing/scripted-service.ts';

test('each call about alert rules is the one of the API, with the operator headers', async () => {
  const service = await scriptedService(Array.from({ length: 9 }, () => ({})));
  const operator = { tenantId: 't', reason: 'r' };
  const { alerts } = createClient({ url: service.url, key: 'idl_test', ...operator });
  const rule = { name: 'Rule', kind: 'match', filters: {} } as const;
  await alerts.rules();
  await alerts.get('a/b');
  await alerts.create(rule);
  await alerts.update('1', { enabled: false });
  await alerts.test('1', { since: '2026-01-01' });
  await alerts.test(rule, { since: '2026-01-01' });
  await alerts.mute('1', null);
  await alerts.acknowledge('1', 'evt_audit_1', 'Expected');
  await alerts.remove('1');
  const json = JSON.stringify(rule);
  expect(service.received.map(({ line, body }) => `${line} ${body}`.trim())).toEqual([
    'GET /api/alert-rules',
    'GET /api/alert-rules/a%2Fb',
    `POST /api/alert-rules ${json}`,
    'PUT /api/alert-rules/1 {"enabled":false}',
    'POST /api/alert-rules/1/test {"since":"2026-01-01"}',
    `POST /api/alert-rules/test {"rule":${json},"since":"2026-01-01"}`,
    'POST /api/alert-rules/1/mute {"until":null}',
    'POST /api/alert-rules/1/acknowledge {"alertId":"evt_audit_1","note":"Expected"}',
    'DELETE /api/alert-rules/1',
  ]);
  for (const { headers } of service.received) {
    expect(headers).toMatchObject({ 'x-tenant-id': 't', 'x-access-reason': 'r' });
  }
});

import { expect, test } from 'vitest';
import { operationIdOf } from './openapi.ts';
import { testService } from './testing/service.ts';

test('an operation is named after its method and path', () => {
  expect(operationIdOf('GET', '/api/audit-logs/:id/proof')).toBe('getAuditLogsByIdProof');
  expect(operationIdOf('POST', '/api/audit-logs')).toBe('postAuditLogs');
  expect(operationIdOf('GET', '/.well-known/indelible-log.json')).toBe(
    'getWellKnownIndelibleLogJson',
  );
});

test('every documented operation has a name of its own', async () => {
  const { app } = await testService();
  const document = (await app.http.inject('/openapi.json')).json<{
    paths: Record<string, Record<string, { operationId?: string }>>;
  }>();
  const names = Object.values(document.paths).flatMap((path) =>
    Object.values(path).map(({ operationId }) => operationId),
  );
  expect(names.length).toBeGreaterThan(15);
  expect(names).not.toContain(undefined);
  expect(new Set(names).size).toBe(names.length);
});

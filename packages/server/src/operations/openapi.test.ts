import { randomUUID } from 'node:crypto';
import { fastify } from 'fastify';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { enforceSchemas } from '../http/http.ts';
import { type TestService, testService } from '../testing/service.ts';
import { operationIdOf } from './openapi.ts';

test('an operation is named after its method and path', () => {
  expect(operationIdOf('GET', '/api/audit-logs/:id/proof')).toBe('getAuditLogsByIdProof');
  expect(operationIdOf('POST', '/api/audit-logs')).toBe('postAuditLogs');
  expect(operationIdOf('GET', '/.well-known/indelible-log.json')).toBe(
    'getWellKnownIndelibleLogJson',
  );
});

interface Operation {
  operationId?: string;
  tags: string[];
  security?: unknown[];
  'x-schema'?: string;
}

interface Document {
  paths: Record<string, Record<string, Operation>>;
  tags: { name: string; description: string }[];
  components: { schemas: { AuditEventInput: { examples: Record<string, unknown>[] } } };
}

let service: TestService;
let document: Document;
let operations: Operation[];

beforeAll(async () => {
  service = await testService();
  document = (await service.app.http.inject('/openapi.json')).json();
  operations = Object.values(document.paths).flatMap((path) => Object.values(path));
});
afterAll(() => service.close());

test('every documented operation has a name of its own', () => {
  const names = operations.map(({ operationId }) => operationId);
  expect(names.length).toBeGreaterThan(15);
  expect(names).not.toContain(undefined);
  expect(new Set(names).size).toBe(names.length);
});

test('every group of operations is described, and none is described in vain', () => {
  const used = new Set(operations.flatMap(({ tags }) => tags));
  expect(new Set(document.tags.map(({ name }) => name))).toEqual(used);
});

test('exactly the calls that need no credential are documented as open', async () => {
  const opened = Object.entries(document.paths).flatMap(([path, calls]) =>
    Object.entries(calls).flatMap(([method, { security }]) =>
      security?.length === 0 ? [`${method} ${path}`] : [],
    ),
  );
  for (const call of ['get /healthz', 'get /metrics', 'post /api/session'])
    expect(opened).toContain(call);
  for (const [path, calls] of Object.entries(document.paths)) {
    if (!('get' in calls)) continue;
    const url = path.replace(/\{[*\w]+\}/g, 'x');
    const { statusCode } = await service.app.http.inject({ method: 'GET', url });
    expect(statusCode !== 401, path).toBe(opened.includes(`get ${path}`));
  }
});

test('every route says whether its schema is enforced, in the document too, or is refused', async () => {
  const kinds = operations.map((operation) => operation['x-schema']);
  expect(new Set(kinds)).toEqual(new Set(['enforced', 'documents']));
  const http = fastify();
  enforceSchemas(http);
  expect(() => http.get('/api/silent', async () => null)).toThrow('does not say whether');
  const config = { scope: 'public', schema: 'enforced' } as const;
  expect(() => http.get('/api/said', { config }, async () => null)).not.toThrow();
});

test('no call that needs a credential takes a parameter that it does not document', async () => {
  for (const [path, calls] of Object.entries(document.paths)) {
    for (const [verb, { security }] of Object.entries(calls)) {
      if (security?.length === 0) continue;
      const url = `${path.replace(/\{[*\w]+\}/g, randomUUID())}?unheard_of=1`;
      const method = verb.toUpperCase() as 'GET';
      const body = method === 'GET' || verb === 'delete' ? {} : { body: {} };
      const answer = await service.call({ method, url, ...body });
      const said = [answer.status, answer.body.code, answer.body.errors?.[0].path];
      expect(said, `${method} ${path}`).toEqual([400, 'unknown_parameter', 'unheard_of']);
    }
  }
});

test('the example of an event is one that the service takes without a warning', async () => {
  const { key } = await service.tenant();
  for (const body of document.components.schemas.AuditEventInput.examples) {
    const answer = await service.call({ method: 'POST', url: '/api/audit-logs', key, body });
    expect([answer.status, answer.body.warnings]).toEqual([201, []]);
  }
  expect(document.components.schemas.AuditEventInput.examples).toHaveLength(1);
});

import { randomUUID } from 'node:crypto';
import { messageTypes } from '@indelible/protocol';
import { testService } from '@indelible/testing/service';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { fastify } from 'fastify';
import { expect, test } from 'vitest';
import { enforceSchemas } from '../http/http.ts';
import { formats } from '../http/json-schema.ts';
import { namedOnce } from './named-schemas.ts';

interface Media {
  schema: { $ref?: string };
  example?: unknown;
}

interface Operation {
  operationId?: string;
  description?: string;
  requestBody?: { content: Record<string, Media> };
  responses: Record<
    string,
    { $ref?: string; description: string; content?: Record<string, Media> }
  >;
  tags: string[];
  security?: unknown[];
  'x-schema'?: string;
  parameters?: { schema: object }[];
}

interface Document {
  paths: Record<string, Record<string, Operation>>;
  webhooks: Record<string, unknown>;
  tags: { name: string; description: string }[];
  components: object;
}

const service = await testService();
const document: Document = (await service.app.http.inject('/openapi.json')).json();
const operations = Object.values(document.paths).flatMap((path) => Object.values(path));

test('every operation has a name of its own that is a function in generated code, and a description', () => {
  const names = operations.map(({ operationId }) => operationId);
  expect(names.length).toBeGreaterThan(15);
  expect(new Set(names).size).toBe(names.length);
  for (const { operationId, description } of operations) {
    expect(operationId).toMatch(/^[a-z]+([A-Z][a-z]+)*$/);
    expect(description, operationId).toMatch(/\.$/);
  }
});

test('every body is a named schema, and every answer says in a sentence what it holds', () => {
  const isJson = (type: string) => type.endsWith('json') && !type.endsWith('ndjson');
  for (const { operationId, requestBody, responses } of operations) {
    const answers = Object.entries(responses).flatMap(([status, each]) =>
      status < '400' ? [each] : [],
    );
    const said = answers.map(({ description }) => description);
    expect(said, operationId).not.toContain('Default Response');
    for (const { content = {} } of [requestBody ?? {}, ...answers]) {
      for (const [type, { schema }] of Object.entries(content))
        if (isJson(type)) expect(schema.$ref, operationId).toMatch(/^#\/components\/schemas\/\w+$/);
    }
  }
});

test('two schemas that share a name are refused; one that is used twice is defined once', () => {
  const named = (type: string) => ({ schema: { title: 'Fact', type } });
  const document = (paths: object) => ({ paths, components: {} });
  const twice = namedOnce(document({ a: named('string'), b: named('string') }));
  const uses = { schema: { $ref: '#/components/schemas/Fact' } };
  expect(twice.paths).toEqual({ a: uses, b: uses });
  expect(twice.components).toEqual({ schemas: { Fact: named('string').schema } });
  const different = document({ a: named('string'), b: named('integer') });
  expect(() => namedOnce(different)).toThrow('two schemas are called Fact');
});

test('every group of operations is described, and none is described in vain', () => {
  const used = new Set(operations.flatMap(({ tags }) => tags));
  expect(new Set(document.tags.map(({ name }) => name))).toEqual(used);
});

test('the document describes every type of message that receivers get, and the restore call', () => {
  const types = [...messageTypes, 'audit.webhook.test', 'audit.restore.requested'];
  expect(Object.keys(document.webhooks)).toEqual(types);
});

test('the schema of a route is enforced unless it says that it documents, in the document too', async () => {
  const kinds = operations.map((operation) => operation['x-schema']);
  expect(new Set(kinds)).toEqual(new Set(['enforced', 'documents']));
  const http = fastify();
  enforceSchemas(http);
  const schema = {
    params: { type: 'object', properties: { n: { type: 'string', maxLength: 1 } } },
  };
  http.get('/silent/:n', { schema }, async () => null);
  http.get('/said/:n', { schema, config: { schema: 'documents' } }, async () => null);
  expect((await http.inject('/silent/22')).statusCode).toBe(400);
  expect((await http.inject('/said/22')).statusCode).toBe(200);
});

test('every schema that a request is checked against is a valid one', () => {
  const ajv = new Ajv2020({ strict: false, formats });
  const { components } = document;
  const schemas = operations.flatMap(({ parameters = [], requestBody }) => [
    ...parameters.map(({ schema }) => schema),
    ...Object.values(requestBody?.content ?? {}).map(({ schema }) => schema),
  ]);
  expect(schemas.length).toBeGreaterThan(100);
  for (const schema of schemas) expect(ajv.compile({ ...schema, components })).not.toThrow();
  expect(() => ajv.compile({ type: 'text' })).toThrow('schema is invalid');
});

test('no call that needs a credential takes a parameter that it does not document', async () => {
  for (const [path, calls] of Object.entries(document.paths)) {
    for (const [verb, { security }] of Object.entries(calls)) {
      if (security?.length === 0) continue;
      const url = `${path.replace(/\{\w+\}/g, randomUUID())}?unheard_of=1`;
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
  const url = '/api/audit-logs';
  const body = document.paths[url]?.post?.requestBody?.content['application/json']?.example;
  const answer = await service.call({ method: 'POST', url, key, body });
  expect([answer.status, answer.body.warnings]).toEqual([201, []]);
});

import { Ajv2020 } from 'ajv/dist/2020.js';
import type { FastifyInstance } from 'fastify';
import { expect } from 'vitest';
import { formats } from '../http/json-schema.ts';

interface Operation {
  responses: Record<string, { content?: Record<string, { schema: object }> }>;
}

const documents = new WeakMap<FastifyInstance, Map<string, Operation>>();
// By schema and its components: two services may have different catalogues.
const validators = new Map<string, (body: unknown) => string>();
const componentsTexts = new WeakMap<FastifyInstance, string>();

/** Checks an answer against the service's OpenAPI document: status, media type and body. */
export function expectAnswerAsDocumented(
  app: FastifyInstance,
  method: string,
  url: string,
  answer: { status: number; headers: Record<string, unknown>; text: string; body: unknown },
): void {
  if (answer.status >= 400 && method !== 'HEAD') expectProblem(app, answer);
  const operation = operationOf(app, method, url.split('?')[0] ?? '');
  if (!operation || answer.status >= 400) return;
  const response = operation.responses[String(answer.status)];
  expect(
    response,
    `${method} ${url} answered ${answer.status}, which is not documented`,
  ).toBeDefined();
  const type = String(answer.headers['content-type'] ?? '').split(';')[0] ?? '';
  if (answer.text === '') return;
  const schema = response?.content?.[type]?.schema;
  expect(schema, `${method} ${url} answered ${type}, which is not documented`).toBeDefined();
  if (schema && type === 'application/json') expect(problemsOf(app, schema, answer.body)).toBe('');
}

function expectProblem(
  app: FastifyInstance,
  answer: { status: number; headers: Record<string, unknown>; body: unknown },
): void {
  expect(String(answer.headers['content-type'])).toMatch(/^application\/problem\+json/);
  expect(problemsOf(app, { $ref: '#/components/schemas/Problem' }, answer.body)).toBe('');
  const { status, requestId } = answer.body as { status: number; requestId: string };
  expect(status).toBe(answer.status);
  expect(requestId).toBe(answer.headers['x-request-id']);
}

function operationOf(app: FastifyInstance, method: string, path: string): Operation | undefined {
  let operations = documents.get(app);
  if (!operations) {
    operations = new Map();
    for (const [template, item] of Object.entries(app.swagger().paths ?? {})) {
      for (const [verb, operation] of Object.entries(item ?? {})) {
        operations.set(`${verb.toUpperCase()} ${template}`, operation as Operation);
      }
    }
    documents.set(app, operations);
  }
  const exact = operations.get(`${method} ${path}`);
  if (exact) return exact;
  const found = [...operations].find(([key]) => {
    const [verb, template = ''] = key.split(' ');
    return (
      verb === method &&
      new RegExp(`^${template.replace('{path}', '.+').replace(/\{\w+\}/g, '[^/]+')}$`).test(path)
    );
  });
  return found?.[1];
}

function problemsOf(app: FastifyInstance, schema: object, body: unknown): string {
  const key = JSON.stringify(schema) + componentsTextOf(app);
  let validate = validators.get(key);
  if (!validate) {
    const ajv = new Ajv2020({ allErrors: true, strict: false, formats });
    const compiled = ajv.compile({ ...schema, components: JSON.parse(componentsTextOf(app)) });
    validate = (value) => (compiled(value) ? '' : ajv.errorsText(compiled.errors));
    validators.set(key, validate);
  }
  return validate(body);
}

function componentsTextOf(app: FastifyInstance): string {
  let text = componentsTexts.get(app);
  if (text === undefined) {
    text = JSON.stringify((app.swagger() as unknown as { components: object }).components);
    componentsTexts.set(app, text);
  }
  return text;
}

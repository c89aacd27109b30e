import type { Catalogue } from '@indelible/protocol';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import type { FastifyInstance } from 'fastify';
import { expect } from 'vitest';
import { formats } from '../../server/src/http/json-schema.ts';

interface Media {
  schema: object;
}

interface Operation {
  responses: Record<string, { content?: Record<string, Media> }>;
}

interface ApiDocument {
  operations: Map<string, Operation>;
  /** Calls with a parameter in their path: for which method, and which paths they are. */
  templates: { method: string; paths: RegExp; operation: Operation }[];
  /** What is wrong with a body; empty if nothing is. */
  problemsOf(schema: object, body: unknown): string;
}

/**
 * Statuses of every path, also of one that leads to no call; the document has them under `default`.
 */
const ofEveryPath = new Set([405, 408, 414, 431, 500]);

/** By service, or by catalogue: nothing else changes what a document says of calls. */
const documents = new WeakMap<FastifyInstance | Catalogue, ApiDocument>();
const catalogues = new WeakMap<FastifyInstance, Catalogue>();

/** Services with one catalogue share one document: making it takes longer than most requests. */
export function shareDocument(app: FastifyInstance, catalogue: Catalogue): void {
  catalogues.set(app, catalogue);
}

/** Checks an answer against the service's OpenAPI document: status, media type and body. */
export function expectAnswerAsDocumented(
  app: FastifyInstance,
  method: string,
  url: string,
  answer: { status: number; headers: Record<string, unknown>; text: string; body: unknown },
): void {
  if (answer.status >= 400 && method !== 'HEAD') expectProblem(app, answer);
  const operation = operationOf(app, method, url.split('?')[0] ?? '');
  if (!operation || ofEveryPath.has(answer.status)) return;
  const response = operation.responses[String(answer.status)];
  expect(
    response,
    `${method} ${url} answered ${answer.status}, which is not documented`,
  ).toBeDefined();
  const type = String(answer.headers['content-type'] ?? '').split(';')[0] ?? '';
  if (answer.text === '' || answer.status >= 400) return;
  const schema = response?.content?.[type]?.schema;
  expect(schema, `${method} ${url} answered ${type}, which is not documented`).toBeDefined();
  if (schema && type === 'application/json') {
    expect(documentOf(app).problemsOf(schema, answer.body)).toBe('');
  }
}

/** Checks a message that a receiver has got against the section `webhooks` of the document. */
export function expectMessageAsDocumented(app: FastifyInstance, body: { type: string }): void {
  const { webhooks } = app.swagger() as unknown as {
    webhooks: Record<string, { post: { requestBody: { content: Record<string, Media> } } }>;
  };
  const media = webhooks[body.type]?.post.requestBody.content['application/json'];
  expect(media, `${body.type} is not documented`).toBeDefined();
  if (media) expect(documentOf(app).problemsOf(media.schema, body)).toBe('');
}

const problem = { $ref: '#/components/schemas/Problem' };

function expectProblem(
  app: FastifyInstance,
  answer: { status: number; headers: Record<string, unknown>; body: unknown },
): void {
  expect(String(answer.headers['content-type'])).toMatch(/^application\/problem\+json/);
  expect(documentOf(app).problemsOf(problem, answer.body)).toBe('');
  const { status, requestId } = answer.body as { status: number; requestId: string };
  expect(status).toBe(answer.status);
  expect(requestId).toBe(answer.headers['x-request-id']);
}

function operationOf(app: FastifyInstance, method: string, path: string): Operation | undefined {
  const { operations, templates } = documentOf(app);
  const exact = operations.get(`${method} ${path}`);
  if (exact) return exact;
  return templates.find((each) => each.method === method && each.paths.test(path))?.operation;
}

function documentOf(app: FastifyInstance): ApiDocument {
  const key = catalogues.get(app) ?? app;
  const known = documents.get(key);
  if (known) return known;
  const { paths = {}, components = {} } = app.swagger() as unknown as {
    paths?: Record<string, Record<string, Operation>>;
    components?: object;
  };
  const operations: ApiDocument['operations'] = new Map();
  const templates: ApiDocument['templates'] = [];
  for (const [template, item] of Object.entries(paths)) {
    const pattern = template.replace('{path}', '.+').replace(/\{\w+\}/g, '[^/]+');
    for (const [verb, operation] of Object.entries(item)) {
      const method = verb.toUpperCase();
      operations.set(`${method} ${template}`, operation);
      templates.push({ method, paths: new RegExp(`^${pattern}$`), operation });
    }
  }
  const problemsOf = checkerFor(JSON.stringify(components));
  const document = { operations, templates, problemsOf };
  documents.set(key, document);
  return document;
}

/** By their components: two services may have different catalogues. */
const checkers = new Map<string, ApiDocument['problemsOf']>();

/** Compiles each schema once for all services: that takes longer than most requests. */
function checkerFor(componentsText: string): ApiDocument['problemsOf'] {
  const made = checkers.get(componentsText);
  if (made) return made;
  const inDocument = (text: string) => JSON.parse(text.replaceAll('"#/', '"document#/'));
  const ajv = new Ajv2020({ allErrors: true, strict: false, validateSchema: false, formats });
  ajv.addSchema({ $id: 'document', components: inDocument(componentsText) });
  const compiled = new Map<string, ValidateFunction>();
  const known = new WeakMap<object, ValidateFunction>();
  const checkOf = (schema: object) => {
    const text = JSON.stringify(schema);
    const validate = compiled.get(text) ?? ajv.compile(inDocument(text));
    compiled.set(text, validate);
    known.set(schema, validate);
    return validate;
  };
  const check: ApiDocument['problemsOf'] = (schema, body) => {
    const validate = known.get(schema) ?? checkOf(schema);
    return validate(body) ? '' : ajv.errorsText(validate.errors);
  };
  checkers.set(componentsText, check);
  return check;
}

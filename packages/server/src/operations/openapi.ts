import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import { catalogueSchema, errorCodes } from '@indelible/protocol';
import type { FastifyInstance } from 'fastify';
import { type TSchema, Type } from 'typebox';
import { FieldError } from '../events/index.ts';
import { AppError, answer, strict } from '../http/index.ts';
import { namedOnce } from './named-schemas.ts';

const ProblemSchema = Type.Object(
  {
    type: Type.String(),
    title: Type.String(),
    status: Type.Integer(),
    detail: Type.String(),
    code: Type.Enum(Object.keys(errorCodes)),
    requestId: Type.String(),
    errors: Type.Optional(Type.Array(FieldError)),
  },
  { ...strict, title: 'Problem' },
);

/** The groups of calls, in the order for a newcomer. */
const tags = [
  { name: 'Events', description: 'Recording, listing, reading and counting audit events.' },
  { name: 'Searches', description: 'Searches kept as evidence.' },
  { name: 'Exports', description: 'Events as a file.' },
  { name: 'Restore', description: 'Setting a resource back to a recorded state.' },
  { name: 'Webhooks', description: 'Events delivered to an address of your own.' },
  { name: 'Verification', description: 'The signed log: checkpoints, tiles, proofs and keys.' },
  { name: 'Tenants', description: 'The customers of the host product, with plan and legal hold.' },
  { name: 'API keys', description: 'Credentials of programs.' },
  { name: 'Panel', description: 'Signing in to the panel.' },
  { name: 'Operations', description: 'Health and metrics, for the operator.' },
];

/**
 * OpenAPI 3.1 at `/openapi.json`, from the schemas that validate; rendered at `/docs`. Also the
 * schema of a CATALOGUE_FILE.
 */
export async function documentApi(app: FastifyInstance): Promise<void> {
  app.addHook('onRoute', (route) => {
    if (!route.schema || route.schema.hide) return;
    route.schema.response = withProblem(route.schema.response);
    if (route.config?.scope === 'public') route.schema.security ??= [];
    Object.assign(route.schema, { 'x-schema': route.config?.schema });
    if (typeof route.method === 'string')
      route.schema.operationId ??= operationIdOf(route.method, route.url);
  });
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Indelible',
        version: '0.1.0',
        description:
          'An immutable, tenant-scoped audit log that tenants can verify for themselves.',
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      },
      components: {
        securitySchemes: {
          bearer: { type: 'http', scheme: 'bearer', description: 'An API key (`idl_…`) or a JWT.' },
          session: {
            type: 'apiKey',
            in: 'cookie',
            name: '__Host-indelible_session',
            description: 'The panel, once signed in; on loopback without the prefix `__Host-`.',
          },
        },
      },
      security: [{ bearer: [] }, { session: [] }],
      tags,
    },
    transformObject: (document) =>
      namedOnce('openapiObject' in document ? document.openapiObject : {}),
  });
  // Assets have plain names; one that no file system accepts (NUL, 5,000 letters) would be a 500.
  app.addHook('onRequest', async ({ routeOptions, params }) => {
    if (routeOptions.url !== '/docs/static/*') return;
    if (!/^[\w.-]{0,100}$/.test((params as { '*': string })['*'])) throw new AppError('not_found');
  });
  await app.register(swaggerUi, { routePrefix: '/docs', staticCSP: true });
  const config = { scope: 'public', schema: 'enforced' } as const;
  const open = { config, schema: { hide: true } };
  app.get('/openapi.json', open, async () => app.swagger());
  app.get('/schemas/catalogue.json', open, async () => catalogueSchema);
}

/**
 * `GET /api/audit-logs/:id/proof` → `getAuditLogsByIdProof`: the call's name in generated clients.
 */
export function operationIdOf(method: string, url: string): string {
  const parts = url.replace(/^\/api\//, '/').split(/[/.:*-]+/);
  const isParam = new Set(
    url.split('/').flatMap((part) => (part.startsWith(':') ? [part.slice(1)] : [])),
  );
  const words = parts
    .filter(Boolean)
    .map((part) => `${isParam.has(part) ? 'By' : ''}${capital(part)}`);
  return `${method.toLowerCase()}${words.join('')}`;
}

function capital(word: string): string {
  return `${word.charAt(0).toUpperCase()}${word.slice(1)}`;
}

/** Every call can answer with a problem document. */
function withProblem(response: unknown): Record<string, unknown> {
  return {
    ...(response as Record<string, TSchema> | undefined),
    default: answer('A problem document (RFC 9457); `code` is stable.', [
      'application/problem+json',
      ProblemSchema,
    ]),
  };
}

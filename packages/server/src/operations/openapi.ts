import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import { catalogueSchema } from '@indelible/protocol';
import type { FastifyInstance, FastifyRequest, FastifySchema } from 'fastify';
import type { TObject } from 'typebox';
import pkg from '../../package.json' with { type: 'json' };
import { pagePolicy } from '../http/panel.ts';
import { AppError } from '../http/problem.ts';
import { Type } from '../http/type.ts';
import { restoreMessages } from '../restores/schemas.ts';
import { webhookMessages } from '../webhooks/message-schemas.ts';
import { type Json, namedOnce } from './named-schemas.ts';
import { problems, type Refusing, refusalsOf } from './refusals.ts';

/** The groups of calls, in the order for a newcomer. */
const tags = [
  { name: 'Events', description: 'Recording, listing, reading and counting audit events.' },
  { name: 'Searches', description: 'Searches kept as evidence.' },
  { name: 'Views', description: 'Searches kept under a name, run anew when they are opened.' },
  { name: 'Exports', description: 'Events as a file.' },
  { name: 'Restore', description: 'Setting a resource back to a recorded state.' },
  { name: 'Webhooks', description: 'Events delivered to an address of your own.' },
  { name: 'Alerts', description: 'Rules that raise alerts in the log, and what became of them.' },
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
export async function documentApi(app: FastifyInstance, publicUrl: () => string): Promise<void> {
  app.addHook('onRoute', (route) => {
    if (!route.schema || route.schema.hide) return;
    if (route.config?.scope === 'public') route.schema.security ??= [];
    Object.assign(route.schema, { 'x-schema': route.config?.schema ?? 'enforced' });
  });
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Indelible',
        version: pkg.version,
        description:
          'An immutable, tenant-scoped audit log that tenants can verify for themselves.',
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      },
      components: {
        responses: problems,
        securitySchemes: {
          bearer: { type: 'http', scheme: 'bearer', description: 'An API key (`idl_…`) or a JWT.' },
          session: {
            type: 'apiKey',
            in: 'cookie',
            name: '__Host-indelible_session',
            description:
              'The panel, once signed in; `__Host-indelible_embedded` if other sites may embed it. ' +
              'On loopback without the prefix `__Host-`.',
          },
        },
      },
      security: [{ bearer: [] }, { session: [] }],
      tags,
    },
    transform: withNamedRest,
    transformObject: (document) => completed(document, publicUrl()),
  });
  // Assets have plain names. A folder, or a name that no file system accepts, would be an error.
  app.addHook('onRoute', (route) => {
    if (route.url !== '/docs/static/*') return;
    const refuse = async ({ params }: FastifyRequest) => {
      const { '*': name } = params as { '*': string };
      if (!/^(\w[\w.-]{0,99})?$/.test(name)) throw new AppError('not_found');
    };
    route.onRequest = [route.onRequest ?? [], refuse].flat();
  });
  await app.register(swaggerUi, { routePrefix: '/docs', staticCSP: pagePolicy([]) });
  const config = { scope: 'public' } as const;
  const open = { config, schema: { hide: true } };
  app.get('/openapi.json', open, async () => app.swagger());
  app.get('/schemas/catalogue.json', open, async () => catalogueSchema);
}

/** OpenAPI has no wildcard: the rest of a path is its parameter `path`. */
function withNamedRest({ schema, url }: { schema: FastifySchema; url: string }) {
  const params = schema?.params as TObject | undefined;
  if (!params || !url.endsWith('*')) return { schema, url };
  const { '*': path, ...others } = params.properties;
  const named = Type.Object({ ...others, ...(path ? { path } : {}) });
  return { schema: { ...schema, params: named }, url: url.replace('*', ':path') };
}

type Calls = Record<string, Refusing & { responses: Json }>;

/** Adds what all calls have in common. The address is certain once the service listens. */
function completed(document: object, url: string) {
  type Given = Json & { info: Json; paths: Record<string, Calls> };
  const { openapiObject } = document as { openapiObject: Given };
  for (const [path, calls] of Object.entries(openapiObject.paths))
    for (const [verb, call] of Object.entries(calls)) {
      Object.assign(call.responses, refusalsOf(path, verb, call));
      delete call['x-refuses'];
    }
  const info = { ...openapiObject.info, contact: { name: 'The operators of this service', url } };
  const webhooks = { ...webhookMessages, ...restoreMessages };
  return namedOnce({ ...openapiObject, info, servers: [{ url }], webhooks });
}

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import serveFiles from '@fastify/static';
import { panelHome, panelRoot } from '@indelible/protocol';
import type { FastifyInstance, FastifyReply } from 'fastify';
import pkg from '../../package.json' with { type: 'json' };
import type { Config } from '../config.ts';
import { nullIfMissing } from '../postgres/embedded/error-code.ts';
import { described } from './field-schemas.ts';
import { AppError, unavailable } from './problem.ts';
import { Type } from './type.ts';

/** The output folder of `npm run build`. */
export const builtPanel = fileURLToPath(new URL('../../../panel/dist', import.meta.url));

export interface PanelDeps {
  /** The folder with `index.html` and `assets`; may be missing at first. */
  folder: string;
  config: Pick<Config, 'frameAncestors' | 'hostSignInUrl'>;
  publicUrl: () => string;
}

/**
 * The panel's page and files. The page is the same for every reader and contains no data; it
 * requests data with the session's cookie.
 */
export async function panelRoutes(app: FastifyInstance, deps: PanelDeps): Promise<void> {
  const assets = join(deps.folder, 'assets');
  const year = { maxAge: '365d', immutable: true } as const;
  // The build compresses each file once, better than is possible during an answer.
  const files = { serve: false, preCompressed: true, suppressWarning: true } as const;
  await app.register(serveFiles, { root: assets, ...files, ...year });

  const page = { config: { scope: 'public' }, schema: { hide: true } } as const;
  const showPage = (_: unknown, reply: FastifyReply) => sendPage(reply, deps);
  for (const url of ['/enter', panelRoot, `${panelRoot}/*`]) app.get(url, page, showPage);
  app.get('/', page, (_, reply) => reply.redirect(panelHome));
  app.get('/assets/:file', page, (request, reply) => {
    const { file } = request.params as { file: string };
    // Assets have plain names; other names are refused without a look at the disk.
    if (!/^\w[\w.-]*$/.test(file)) throw new AppError('not_found');
    return reply.sendFile(file);
  });
  app.get('/api/panel-config', configOptions, async (_, reply) => {
    reply.header('cache-control', 'no-store');
    const signInUrl = deps.config.hostSignInUrl;
    return { frameAncestors: messageOrigins(deps), signInUrl, version: pkg.version };
  });
}

const configOptions = {
  config: { scope: 'public' },
  schema: {
    tags: ['Panel'],
    operationId: 'getPanelConfig',
    summary: 'What the panel must know before a sign-in',
    description: 'Which sites may embed the panel, where to sign in, and the version.',
    response: {
      200: described('PanelConfig', 'The same for everybody.', {
        frameAncestors: Type.Array(
          Type.String({ description: 'An origin whose pages may hand over a token.' }),
        ),
        signInUrl: Type.Union([Type.String(), Type.Null()], {
          description:
            'The host’s page that signs a reader in. The panel adds `return_to`, its own path.',
        }),
        version: Type.String(),
      }),
    },
  },
} as const;

function messageOrigins({ config, publicUrl }: PanelDeps): string[] {
  return config.frameAncestors.map((source) =>
    source === "'self'" ? new URL(publicUrl()).origin : source,
  );
}

/** The page of evidence capsules. Throws `unavailable` if the panel is not built. */
export async function capsulePage(folder = builtPanel): Promise<string> {
  const html = await readBuilt(folder, 'capsule.html');
  if (html !== null) return html;
  throw unavailable('the panel is not built: run `npm run build`, then try again');
}

// Read each time: it is small, and a build replaces it while the service runs.
function readBuilt(folder: string, name: string): Promise<string | null> {
  return readFile(join(folder, name), 'utf8').catch(nullIfMissing);
}

async function sendPage(reply: FastifyReply, { folder, config }: PanelDeps) {
  const { frameAncestors } = config;
  reply.headers(pageHeaders(frameAncestors));
  // The policy lists the embedding sites, which this older header cannot.
  if (frameAncestors.length > 0) reply.removeHeader('x-frame-options');
  const html = await readBuilt(folder, 'index.html');
  if (html !== null) return reply.type('text/html; charset=utf-8').send(html);
  const sentence = 'The panel is not built. Run `npm run build`, then load this page again.\n';
  return reply.code(503).type('text/plain; charset=utf-8').send(sentence);
}

/** The policy of every page: only the service's own files run, and data is sent nowhere else. */
export function pagePolicy(frameAncestors: readonly string[]): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "object-src 'none'",
    "form-action 'self'",
    `frame-ancestors ${frameAncestors.length === 0 ? "'none'" : frameAncestors.join(' ')}`,
  ].join('; ');
}

function pageHeaders(frameAncestors: readonly string[]): Record<string, string> {
  return {
    'cache-control': 'no-store',
    'content-security-policy': pagePolicy(frameAncestors),
    'referrer-policy': 'no-referrer',
    'cross-origin-opener-policy': 'same-origin',
    'permissions-policy':
      'camera=(), microphone=(), geolocation=(), payment=(), usb=(), clipboard-write=(self)',
  };
}

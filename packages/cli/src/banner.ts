import { readFileSync } from 'node:fs';
import { createClient, isLoopbackUrl, type ViewerLink } from '@indelible/client';
import type { Environment } from './io.ts';
import { visible } from './text.ts';

/** Where a service runs and stores its data. */
interface ServiceFacts {
  url: string;
  dataDir: string;
  /** Null if the key comes from the environment. */
  platformKeyFile: string | null;
  /** Whether the database of a killed service was found and taken over. */
  takenOver: boolean;
  /** Opens the panel of the first tenant; null or absent if there is none. */
  panelLink?: PanelLink | null;
}

// Any UUID; the four commands must share it.
const tenantId = '5f0c6a52-3f0e-4b8e-9d5c-0a1b2c3d4e5f';
const actor = {
  id: '0e4b7a36-52f4-4f0f-8f5e-7d1f5c3b2a19',
  email: 'ana@example.com',
  role: 'admin',
};
const firstEvent = {
  tenantId,
  actor,
  action: 'update',
  resource: { type: 'queue', id: 'c2d1f3a4-6b5e-4c7d-8e9f-1a2b3c4d5e6f', name: 'Support' },
  diff: { maxWaitSeconds: { from: 30, to: 60 } },
};

/** The output of `serve` after the start: addresses, paths (never a key), and four calls to try. */
export function banner(facts: ServiceFacts): string {
  const { url, dataDir, platformKeyFile, takenOver } = facts;
  const events = `${url}/api/audit-logs`;
  const key = platformKeyFile === null ? 'the value of PLATFORM_API_KEY' : platformKeyFile;
  return `
Indelible is ready at ${url}

  API reference   ${url}/docs
  data            ${dataDir}
  platform key    ${key}
${takenOver ? '\nThe service took over the database of a process that was killed.\n' : ''}${panel(facts)}
Create a tenant:

${curl(facts, `-X PUT ${url}/api/tenants/${tenantId}`, json({ name: 'Example', plan: 'Pro' }))}

Record a first event:

${curl(facts, events, json(firstEvent))}

Read it back (the reason is recorded too, where the tenant can see it):

${curl(facts, events, [`-H 'X-Tenant-Id: ${tenantId}'`, "-H 'X-Access-Reason: first%20look'"])}

Make a link that opens the tenant's panel, once, within five minutes:

${curl(facts, `${url}/api/viewer-links`, json({ tenantId, actor }))}

Ctrl-C stops the service.
`;
}

function panel({ panelLink }: ServiceFacts): string {
  if (!panelLink) return '';
  const opens = `The panel of ${visible(panelLink.tenantName)} opens with this link`;
  return `\n${opens}, once, within 15 minutes:\n\n  ${panelLink.url}\n`;
}

function json(body: object): string[] {
  return ["-H 'Content-Type: application/json'", `-d '${JSON.stringify(body)}'`];
}

function curl({ platformKeyFile }: ServiceFacts, call: string, options: string[]): string {
  // During a rotation, the first of two keys.
  const environment = `\${PLATFORM_API_KEY%%,*}`;
  const key = platformKeyFile === null ? environment : `$(cat ${quoted(platformKeyFile)})`;
  const lines = [`curl ${call}`, `-H "Authorization: Bearer ${key}"`, ...options];
  return lines.map((line, index) => `${index === 0 ? '  ' : '    '}${line}`).join(' \\\n');
}

/** A path for a POSIX shell, quoted if needed. */
export function quoted(path: string): string {
  return /^[\w@%+=:,./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}

/** A link to the panel of one tenant, for the person who started the service on this machine. */
type PanelLink = ViewerLink & { tenantName: string };

type StartedService = Pick<ServiceFacts, 'url' | 'platformKeyFile'>;

// Not an account: the person at the terminal has none, so there is no e-mail address.
const person = { id: '6f3d1c52-8a47-4b0e-9d2a-5e7c1b3f9a60', email: null, role: 'admin' } as const;

/**
 * A link that opens the panel of the first tenant. Null without a tenant, off loopback, or if the
 * service refuses: the start must not fail because of the link.
 */
export async function firstPanelLink(
  service: StartedService,
  env: Environment,
): Promise<PanelLink | null> {
  if (!isLoopbackUrl(new URL(service.url))) return null;
  const key = platformKey(service, env);
  const client = createClient({ url: service.url, key, attempts: 1, timeoutMs: 10_000 });
  try {
    for await (const { id: tenantId, name: tenantName } of client.tenants.list()) {
      const link = await client.viewerLinks.create({ tenantId, actor: person, ttlSeconds: 900 });
      return { ...link, tenantName };
    }
    return null;
  } catch {
    return null;
  }
}

/** The platform key; during a rotation, the first of two. */
export function platformKey({ platformKeyFile }: StartedService, env: Environment): string {
  if (platformKeyFile !== null) return readFileSync(platformKeyFile, 'utf8').trim();
  return (env.PLATFORM_API_KEY ?? '').split(',', 1)[0]?.trim() ?? '';
}

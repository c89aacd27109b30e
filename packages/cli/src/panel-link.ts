import { readFileSync } from 'node:fs';
import { createClient, isLoopbackUrl, type ViewerLink } from '@indelible/client';
import type { Environment } from './io.ts';

/** A link to the panel of one tenant, for the person who started the service on this machine. */
export interface PanelLink {
  url: string;
  expiresAt: string;
  tenantName: string;
}

export interface StartedService {
  url: string;
  /** Null if the key comes from the environment. */
  platformKeyFile: string | null;
}

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
  try {
    const client = createClient({ url: service.url, key: platformKey(service, env), attempts: 1 });
    for await (const { id: tenantId, name } of client.tenants.list()) {
      const ttlSeconds = 900;
      const link: ViewerLink = await client.viewerLinks.create({
        tenantId,
        actor: person,
        ttlSeconds,
      });
      return { ...link, tenantName: name };
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

import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';

/** One file of one tenant, until an expiry time. */
export interface LinkedFile {
  tenantId: string;
  exportId: string;
  untilMs: number;
}

export type DownloadLinks = ReturnType<typeof createDownloadLinks>;

/**
 * Signs links that open a file without a credential, and verifies them. The key is derived by
 * HKDF-SHA-256 (RFC 5869) from the session secret.
 */
export function createDownloadLinks(sessionSecret: string) {
  const info = 'indelible/export-download/v1';
  const key = new Uint8Array(hkdfSync('sha256', sessionSecret, '', info, 32));
  const tag = ({ tenantId, exportId, untilMs }: LinkedFile) =>
    createHmac('sha256', key).update(`${tenantId}\n${exportId}\n${untilMs}`).digest();
  /** Query parameters of the link. */
  const sign = (file: LinkedFile) => {
    const { tenantId: tenant, untilMs } = file;
    const signature = tag(file).toString('base64url');
    return new URLSearchParams({ tenant, until: String(untilMs), signature });
  };
  return {
    sign,
    /**
     * The file; null if this service did not sign the link, or it was changed, even in spelling.
     * May have expired.
     */
    read(exportId: string, query: string): LinkedFile | null {
      const sent = new URLSearchParams(query);
      const file = {
        ...{ tenantId: sent.get('tenant') ?? '', exportId },
        untilMs: Number(sent.get('until') ?? Number.NaN),
      };
      return isSame(query, sign(file).toString()) ? file : null;
    },
  };
}

function isSame(sent: string, own: string): boolean {
  const [a, b] = [Buffer.from(sent), Buffer.from(own)];
  return a.length === b.length && timingSafeEqual(a, b);
}

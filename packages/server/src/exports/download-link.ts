import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';

/** What a link opens: one file of one tenant, until a moment. */
export interface LinkedFile {
  tenantId: string;
  exportId: string;
  untilMs: number;
}

/** Signs links that open a file without a credential, and knows its own again. */
export interface DownloadLinks {
  /** Query parameters of the link. */
  sign(file: LinkedFile): URLSearchParams;
  /** The file, or null for a link that is not of this service or was changed; may be out of time. */
  read(exportId: string, query: URLSearchParams): LinkedFile | null;
}

/** Links under a key of their own, derived by HKDF-SHA-256 (RFC 5869) from the session secret. */
export function createDownloadLinks(sessionSecret: string): DownloadLinks {
  const info = 'indelible/export-download/v1';
  const key = new Uint8Array(hkdfSync('sha256', sessionSecret, '', info, 32));
  const tag = ({ tenantId, exportId, untilMs }: LinkedFile) =>
    createHmac('sha256', key).update(`${tenantId}\n${exportId}\n${untilMs}`).digest();
  return {
    sign(file) {
      const { tenantId: tenant, untilMs } = file;
      const signature = tag(file).toString('base64url');
      return new URLSearchParams({ tenant, until: String(untilMs), signature });
    },
    read(exportId, query) {
      const [tenantId = '', until = '', signature = ''] = ['tenant', 'until', 'signature'].map(
        (name) => query.get(name) ?? '',
      );
      const file = { tenantId, exportId, untilMs: Number(until) };
      const sent = Buffer.from(signature, 'base64url');
      const own = tag(file);
      return sent.length === own.length && timingSafeEqual(sent, own) ? file : null;
    },
  };
}

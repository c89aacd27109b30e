import type pg from 'pg';
import type { AuditConnection } from './audit.ts';

/** What the product is made of. */
export interface HostDeps {
  pool: pg.Pool;
  /** Set once the product listens: only then can the service be told where. */
  audit: () => AuditConnection;
  cookieSecret: string;
}

import type { Plans, Sha256 } from '@indelible/protocol';
import type { RecordAccess } from './access/record-looks.ts';
import type { Ended } from './background/every.ts';
import type { Jobs } from './background/jobs.ts';
import type { Sealer } from './crypto/sealed.ts';
import type { ObjectStore } from './objects/object-store.ts';
import type { Mailer } from './outbound/mail.ts';
import type { Outbound } from './outbound/outbound.ts';
import type { RecordOwn, RecordQueued } from './own-event.ts';
import type { Database } from './postgres/db.ts';

/** What the features are given. */
export interface Parts {
  db: Database;
  objects: ObjectStore;
  sha: Sha256;
  plans: Plans;
  /** PostgreSQL's clock, in milliseconds since 1970. */
  now: () => number;
  /** A new UUID for this time. */
  newUuid: (timeMs: number) => string;
  jobs: Jobs;
  ended: Ended;
  mailer: Mailer;
  sealer: Sealer;
  outbound: Outbound;
  recordOwn: RecordOwn;
  recordQueued: RecordQueued;
  recordAccess: RecordAccess;
  /** Base of links, without a slash at the end. */
  publicUrl: () => string;
  /** Publishes a checkpoint of everything recorded so far, or throws `unavailable`. */
  publishCheckpoint: () => Promise<void>;
}

import { rootAtSize, type Sha256 } from '@indelible/protocol';
import type { TenantTx, WriterTx } from '../db.ts';
import type { ObjectStore } from '../objects.ts';
import type { RecordOwn } from '../own-event.ts';
import { headsByLogId, publishRound, type SignedCheckpoint } from './checkpoint.store.ts';
import { readRound, roundName } from './round.ts';
import { beginAnew, clearHalt, lastRound } from './reopen.store.ts';
import { treeNodes } from './tree.store.ts';

/** What became of a log that was published beyond what the database holds. */
export interface ReopenedLog {
  tenantId: string;
  previousLogId: string;
  logId: string;
  /** Entries the log has, and entries that were published. */
  size: number;
  publishedSize: number;
}

export interface ReopenDeps {
  sha: Sha256;
  objects: ObjectStore;
  recordOwn: RecordOwn;
  now: () => number;
}

const nobody = '00000000-0000-0000-0000-000000000000';

/**
 * The way on after a rewound database, within the owner's transaction: every log that does not hold
 * what was published of it begins a new origin with the leaves it has, and its first new record is the
 * last published checkpoint, so that the tenant sees what was lost. Logs that agree go on as they are.
 */
export async function reopenLogs(tx: WriterTx, deps: ReopenDeps): Promise<ReopenedLog[]> {
  const { sha, now } = deps;
  const published = await publishedSince(tx, deps);
  const heads = await headsByLogId(tx, [...published.latest.keys()]);
  await clearHalt(tx);
  const reopened: ReopenedLog[] = [];
  for (const [logId, checkpoint] of published.latest) {
    const head = heads.get(logId);
    if (!head) continue; // a tenant made after the backup: nothing of it is left to continue
    const agrees = await holds(tx, sha, head.tenantId, head.size, checkpoint);
    if (agrees) continue;
    const { tenantId, size } = head;
    const newLogId = await beginAnew(tx, tenantId);
    await deps.recordOwn(tx, tenantId, reopening(tenantId, checkpoint, size));
    reopened.push({ tenantId, previousLogId: logId, logId: newLogId, size, publishedSize: checkpoint.size });
  }
  // The next round takes a number that nobody has used.
  for (let round = published.first; round <= published.last; round++) {
    await publishRound(tx, round, [], now());
  }
  return reopened;
}

/** The last checkpoint of each log in the rounds that the database does not know. */
async function publishedSince(tx: WriterTx, { objects }: ReopenDeps) {
  const first = (await lastRound(tx)) + 1;
  const latest = new Map<string, Omit<SignedCheckpoint, 'tenantId'>>();
  for (let round = first; ; round++) {
    const body = await objects.get(roundName(round));
    if (body === null) return { first, last: round - 1, latest };
    for (const { note, logId, checkpoint } of readRound(body)) {
      latest.set(logId, { logId, size: checkpoint.size, root: checkpoint.root, note });
    }
  }
}

async function holds(
  tx: WriterTx,
  sha: Sha256,
  tenantId: string,
  size: number,
  published: { size: number; root: Uint8Array },
): Promise<boolean> {
  if (size < published.size) return false;
  const reader: TenantTx = { tenantId, query: (query) => tx.query(query) };
  const root = await rootAtSize(sha, treeNodes(reader, sha), published.size);
  return Buffer.compare(root, published.root) === 0;
}

function reopening(tenantId: string, checkpoint: { size: number; note: string }, size: number) {
  return {
    actor: { id: nobody, email: null, role: 'system', ip: null, userAgent: null },
    action: 'update',
    resource: { type: 'audit_log', id: tenantId, name: 'Audit log' },
    diff: { entries: { from: checkpoint.size, to: size } },
    after: { reopened: true, lastPublishedCheckpoint: checkpoint.note },
    reason: 'The database was restored from an older backup.',
  };
}

import { type Sha256, tileWidth } from '@indelible/protocol';
import { type Database, type WriterTx, write } from '../postgres/db.ts';
import { hasRow, raw } from '../postgres/sql.ts';
import { headsOf } from './checkpoint.store.ts';
import { damageOf } from './guard.store.ts';
import { allLogs, hasSurplus } from './reopen.store.ts';

/** A tenant's log that is to be checked. */
export interface LogToCheck {
  tenantId: string;
  /** Entries that the head counts; 0 without a head. */
  size: number;
  /** Whether a checkpoint was published of it. */
  isPublished: boolean;
  /** What is wrong with it without looking further; null when nothing is. */
  problem: string | null;
}

/** Every log that has a head or a released checkpoint, by tenant. */
export async function logsToCheck(db: Database): Promise<LogToCheck[]> {
  const logs = await write(db, allLogs);
  return logs.flatMap(({ tenantId, logIds, head, released }) => {
    const [first, second = first] = logIds;
    if (first === undefined) return [];
    const other = `the last checkpoint is of the log ${first}, the head of ${second}`;
    const problem = head === null ? `the log ${first} has lost its head` : other;
    const isSound = head !== null && first === second;
    const isPublished = released !== null;
    return [{ tenantId, size: head?.size ?? 0, isPublished, problem: isSound ? null : problem }];
  });
}

/**
 * What is wrong with a log that a reader of it does not see: its head, entries behind its end, and
 * tiles above the entries as they are kept. Null when nothing is.
 */
export function storedDamage(db: Database, sha: Sha256, tenantId: string): Promise<string | null> {
  return inSnapshot(db, async (tx) => {
    const damage = await damageOf(tx, sha, [tenantId]);
    const [head] = await headsOf(tx, [tenantId]);
    if (damage !== null || !head) return damage;
    if (await hasSurplus(tx, tenantId, head.size)) {
      return `the log ${head.logId} has further entries behind its end`;
    }
    const isWrong = await hasWrongTile(tx, tenantId, head.size);
    return isWrong ? `a tile of the log ${head.logId} does not match the tiles below it` : null;
  });
}

/** Rounds and logs may grow meanwhile: every statement of `work` sees them as they are now. */
export function inSnapshot<T>(db: Database, work: (tx: WriterTx) => Promise<T>): Promise<T> {
  return write(db, async (tx) => {
    await tx.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY');
    return work(tx);
  });
}

/** Whether a tile above the entries is not made of those below it, or covers none. */
async function hasWrongTile(tx: WriterTx, tenantId: string, size: number): Promise<boolean> {
  const width = raw(tileWidth);
  return hasRow(tx)`
    SELECT 1 FROM log_tiles t WHERE tenant_id = ${tenantId} AND level > 0
      AND ((index + 1) * ${width}::numeric ^ (level + 1) > ${size}
        OR data IS DISTINCT FROM (SELECT string_agg(hash, '' ORDER BY index) FROM log_tiles b
          WHERE b.tenant_id = t.tenant_id AND b.level = t.level - 1
            AND b.index >= t.index * ${width} AND b.index < (t.index + 1) * ${width})) LIMIT 1`;
}

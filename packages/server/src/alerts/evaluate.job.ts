import { type Leased, LeasedWorker } from '../background/leased-worker.ts';
import { visibility } from '../events/store.ts';
import { lockHeads } from '../log/store.ts';
import { readTenant, tenantIn, writeInBackground } from '../postgres/db.ts';
import { raisedEvent } from './alert-event.ts';
import { claimCursor, getCursor, moveCursor, releaseCursor } from './cursor.store.ts';
import { type Batch, evaluateBatch, RuleMemory, shortened } from './evaluate-batch.ts';
import { watchOf } from './rule.ts';
import { listRules, type RuleRow, saveRule } from './store.ts';
import { type EvaluateParts, tellDue, tellEveryMs } from './tell.ts';

const tenantsAtOnce = 4;
/** Longer than reading and recording together. */
const leaseMs = 30_000;
/** Tenants whose rules a process remembers. */
const memoriesMax = 500;

/** Evaluates the rules of all tenants: several at once, each by one process at a time. */
export function createAlertWorker(parts: EvaluateParts): LeasedWorker<Leased> {
  const { db, now, ended } = parts;
  const memories = new Map<string, RuleMemory>();
  return new LeasedWorker<Leased>({
    atOnce: tenantsAtOnce,
    claim: (lease) => claimCursor(db.background, lease, now(), now() + leaseMs),
    run: (leased) => step(parts, leased, memories),
    release: (leased) => releaseCursor(db.background, leased),
    work: 'alerts',
    ended,
  });
}

/**
 * Evaluates one batch. Alerts, the messages that are due, and the cursor are stored in one
 * transaction. After a crash another process reads the same events, and raises each alert once.
 * What a process remembers counts only if it has itself evaluated all events before. False if there
 * is nothing more to do now.
 */
async function step(
  parts: EvaluateParts,
  leased: Leased,
  memories: Map<string, RuleMemory>,
): Promise<boolean> {
  const { db, now } = parts;
  const { tenantId } = leased;
  const remembered = memories.get(tenantId);
  // Kept again only if the batch is stored.
  memories.delete(tenantId);
  const read = await readTenant(db, tenantId, async (tx) => {
    const [cursor, visible] = [await getCursor(tx, leased.lease), await visibility(tx, now())];
    if (!cursor || !visible) return null;
    const rules = (await listRules(tx)).filter(({ enabled }) => enabled);
    const isCurrent = remembered?.sequence === cursor.nextSequence;
    const memory = isCurrent ? remembered : new RuleMemory(cursor.nextSequence, now());
    const batch = await evaluateBatch(cursor, rules, visible, memory, now());
    return { cursor, rules, memory, batch };
  });
  if (read === null) return false;
  const { cursor, rules, memory, batch } = read;
  const stored = shortened(batch);
  if (!(await store(parts, leased, cursor.nextSequence, stored))) return false;
  // A shortened batch is not what the memory has seen.
  if (stored === batch) {
    memory.sequence = batch.end;
    if (memories.size >= memoriesMax) memories.clear();
    memories.set(tenantId, memory);
  }
  const hasFound = stored.outcomes.some(({ findings }) => findings.length > 0);
  const hasTold = await tellDue(parts, tenantId, rules);
  return stored.end > cursor.nextSequence || hasFound || hasTold;
}

/** False if another process has the lease, or has stored this batch: then nothing is stored. */
function store(
  parts: EvaluateParts,
  leased: Leased,
  from: number,
  { end, outcomes, ...batch }: Batch,
): Promise<boolean> {
  const late = batch.late.length;
  const { db, now } = parts;
  const { tenantId } = leased;
  const changes = outcomes.filter(
    ({ findings, dropped, silentAtMs }) =>
      findings.length + dropped.length > 0 || silentAtMs !== undefined,
  );
  if (changes.length === 0) {
    return moveCursor(db.background, leased, from, end, late, now() + leaseMs);
  }
  return writeInBackground(db, async (tx) => {
    // First, as flushes and changes of rules do: the other order would deadlock with one.
    await lockHeads(tx, [tenantId], true);
    if (!(await moveCursor(tx, leased, from, end, late, now() + leaseMs))) return false;
    const current = await listRules(tenantIn(tx, tenantId));
    const unchanged = changes.flatMap((change) => {
      const row = current.find((each) => isUnchanged(each, change.rule));
      return row ? [{ ...change, row }] : [];
    });
    const alerts = unchanged.flatMap(({ row, findings }) =>
      findings.map((finding) => raisedEvent(row, finding)),
    );
    const raised = await parts.recordOwn(tx, tenantId, ...alerts);
    const saved = unchanged.map(({ row, findings, dropped, silentAtMs = row.silentAtMs }) => {
      const counted = { ...row, silentAtMs, dropped: row.dropped + dropped.length };
      return saveRule(tx, withUntold(counted, raised.splice(0, findings.length), now()));
    });
    await Promise.all(saved); // they travel together
    return true;
  });
}

/** Whether the rule still evaluates as it did when the batch was read. */
function isUnchanged(now: RuleRow, read: RuleRow): boolean {
  const { id, enabled, fromSequence } = now;
  const isSame = id === read.id && fromSequence === read.fromSequence;
  return enabled && isSame && watchOf(now) === watchOf(read);
}

/** The first alert after a pause is told at once, further ones together when it is over. */
function withUntold(row: RuleRow, raised: readonly string[], nowMs: number): RuleRow {
  const isMuted = row.mutedUntilMs !== null && row.mutedUntilMs > nowMs;
  if (raised.length === 0 || isMuted) return row;
  const toldMs = Math.min(row.toldAtMs ?? 0, nowMs); // by a clock that was ahead
  const earliestMs = Math.max(nowMs, toldMs + tellEveryMs);
  return { ...row, untold: [...row.untold, ...raised], tellAtMs: row.tellAtMs ?? earliestMs };
}

import { callFailures, typeId } from '@indelible/protocol';
import { type RunningJob, TryAgain } from '../background/jobs.ts';
import { keptText } from '../outbound/outbound.ts';
import { signedPost } from '../outbound/standard-webhooks.ts';
import type { Parts } from '../parts.ts';
import { readTenant, write } from '../postgres/db.ts';
import { restoreSecretContext } from '../tenants/put-tenant.store.ts';
import { judge, restoreEvent, restoreIdPrefix } from './restore-call.ts';
import {
  finishRestore,
  type PendingRestore,
  type RestoreOutcome,
  type RestoreRequest,
  readPending,
  restoreAddress,
} from './store.ts';

interface RestoreParts extends Parts {
  /** Called if a secret cannot be decrypted. */
  onError: (error: unknown) => void;
}

type Key = Pick<RestoreRequest, 'tenantId' | 'id'>;

/**
 * Calls the host products. A restore is a row until its outcome, and a job: after a crash the call
 * is repeated under the same id, and the host gives the same answer. The first stored outcome
 * counts, in one transaction with its event. A restore never ends without an outcome: an outcome
 * that cannot be stored is stored later.
 */
export function handleRestores(parts: RestoreParts): void {
  const attempt = (job: RunningJob<Key>) => attemptRestore(parts, job);
  parts.jobs.handle('restore', attempt, attempt);
}

async function attemptRestore(
  parts: RestoreParts,
  { data, isLast, signal }: RunningJob<Key>,
): Promise<void> {
  const pending = await readTenant(parts.db, data.tenantId, (tx) => readPending(tx, data.id));
  if (pending === null) return; // another process has written its outcome
  const verdict = await call(parts, pending, signal);
  signal.throwIfAborted(); // a call that was cut off has no outcome
  if (verdict.status !== 'retry') return finish(parts, pending, verdict);
  if (!isLast) throw new TryAgain('the host product is to be called again');
  return finish(parts, pending, { ...verdict, status: 'failed' });
}

async function call(
  parts: RestoreParts,
  { tenantId, id, body }: PendingRestore,
  signal: AbortSignal,
): Promise<ReturnType<typeof judge>> {
  // Read at every attempt: a removed address is not called any more.
  const address = await readTenant(parts.db, tenantId, restoreAddress);
  if (address === null) return { status: 'failed', reason: callFailures.restoreUrlLost };
  const secret = openSecret(parts, tenantId, address.sealedSecret);
  if (secret === null) return { status: 'failed', reason: callFailures.restoreSecretLost };
  const message = { id: typeId(restoreIdPrefix, id), body };
  const request = signedPost(address.url, message, [secret], parts.now());
  return judge(await parts.outbound({ ...request, signal }));
}

/** Null if it cannot be decrypted; further attempts would not help. */
function openSecret(
  { sealer, onError }: RestoreParts,
  tenantId: string,
  sealed: Uint8Array,
): string | null {
  try {
    return sealer.open(restoreSecretContext(tenantId), sealed);
  } catch (error) {
    onError(error);
    return null;
  }
}

async function finish(
  { db, now, recordOwn }: RestoreParts,
  pending: PendingRestore,
  { status, reason }: RestoreOutcome,
): Promise<void> {
  const outcome = { status, reason: reason && (keptText(reason) || null) };
  await write(db, async (tx) => {
    if (!(await finishRestore(tx, pending, outcome, now()))) return;
    await recordOwn(tx, pending.tenantId, restoreEvent(pending, outcome));
  });
}

import { typeId } from '@indelible/protocol';
import type { Sealer } from '../crypto/sealed.ts';
import { keptText, type Outbound } from '../outbound/outbound.ts';
import { signedPost } from '../outbound/standard-webhooks.ts';
import type { RecordOwn } from '../own-event.ts';
import { type Database, readTenant, write } from '../postgres/db.ts';
import { restoreSecretContext } from '../tenants/put-tenant.store.ts';
import { judge, restoreIdPrefix } from './restore-call.ts';
import { restoreEvent } from './restore-event.ts';
import {
  type ClaimedRestore,
  claimRestore,
  finishRestore,
  postponeRestore,
  type RestoreOutcome,
  restoreAddress,
} from './store.ts';

export interface RestoreJobDeps {
  db: Database;
  now: () => number;
  outbound: Outbound;
  sealer: Sealer;
  recordOwn: RecordOwn;
  /** Hears of what kept a restore from its outcome for now. */
  onError: (error: unknown) => void;
}

const callsAtOnce = 20;
/** Pauses before the second, third and fourth attempt. */
const backoffMs = [1_000, 4_000, 15_000];
const secretLost =
  'the restore secret cannot be decrypted, because SESSION_SECRET was changed: remove ' +
  'the restore URL and set it again';
/** Longer than a call takes at most. */
const leaseMs = 30_000;

/**
 * Calls the host products. A restore is a row from its request to its outcome, and an attempt is a
 * claim on that row which expires: what a crash leaves behind is called again under the same id,
 * and the host answers as it did. The first outcome to be written stays, with its event, in one
 * transaction. One call a tenant at a time: who does not answer holds up nobody else.
 */
export class RestoreJob {
  readonly #deps: RestoreJobDeps;
  readonly #running = new Map<string, Promise<void>>();
  readonly #stop = new AbortController();
  #claims: Promise<void> = Promise.resolve();

  constructor(deps: RestoreJobDeps) {
    this.#deps = deps;
  }

  /** Attempts what is due; resolves when the attempts under way have ended. Never rejects. */
  async tick(): Promise<void> {
    await this.#claim();
    await Promise.all(this.#running.values());
  }

  /** The same, but waits for this tenant's attempt alone. */
  async tickFor(tenantId: string): Promise<void> {
    await this.#claim();
    await this.#running.get(tenantId);
  }

  /** Cuts calls off; their restores are taken up again when their leases end. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#claims;
    await Promise.all(this.#running.values());
  }

  /** One look for work after the other, so that no tenant is taken up twice. */
  #claim(): Promise<void> {
    this.#claims = this.#claims.then(() => this.#takeUp()).catch(this.#deps.onError);
    return this.#claims;
  }

  async #takeUp(): Promise<void> {
    const { db, now } = this.#deps;
    while (this.#running.size < callsAtOnce && !this.#stop.signal.aborted) {
      const busy = [...this.#running.keys()];
      const claimed = await write(db, (tx) => claimRestore(tx, busy, now(), now() + leaseMs));
      if (!claimed) return;
      this.#running.set(claimed.tenantId, this.#run(claimed));
    }
  }

  async #run(claimed: ClaimedRestore): Promise<void> {
    await this.#attempt(claimed).catch(this.#deps.onError);
    this.#running.delete(claimed.tenantId);
    await this.#claim();
  }

  async #attempt(claimed: ClaimedRestore): Promise<void> {
    const { db, now } = this.#deps;
    const verdict = await this.#call(claimed);
    // What was cut off is no outcome.
    if (this.#stop.signal.aborted) return;
    const pause = backoffMs[claimed.attempts - 1];
    if (verdict.status !== 'retry') return this.#finish(claimed, verdict);
    if (pause === undefined) return this.#finish(claimed, { ...verdict, status: 'failed' });
    await write(db, (tx) => postponeRestore(tx, claimed, now() + pause));
  }

  async #call(claimed: ClaimedRestore): Promise<ReturnType<typeof judge>> {
    const { db, outbound, now } = this.#deps;
    const { tenantId, id, body } = claimed;
    // Asked at every attempt: an address that was taken back is not called any more.
    const address = await readTenant(db, tenantId, restoreAddress);
    if (address === null)
      return { status: 'failed', reason: 'the tenant has no restore URL any more' };
    const secret = this.#open(tenantId, address.sealedSecret);
    if (secret === null) return { status: 'failed', reason: secretLost };
    const message = { id: typeId(restoreIdPrefix, id), body };
    const call = signedPost(address.url, message, [secret], now());
    return judge(await outbound({ ...call, signal: this.#stop.signal }));
  }

  /** Null when it cannot be opened, which no further attempt would change. */
  #open(tenantId: string, sealed: Uint8Array): string | null {
    const { sealer, onError } = this.#deps;
    try {
      return sealer.open(restoreSecretContext(tenantId), sealed);
    } catch (error) {
      onError(error);
      return null;
    }
  }

  async #finish(claimed: ClaimedRestore, { status, reason }: RestoreOutcome): Promise<void> {
    const { db, now, recordOwn } = this.#deps;
    const outcome = { status, reason: reason && (keptText(reason) || null) };
    await write(db, async (tx) => {
      if (!(await finishRestore(tx, claimed, outcome, now()))) return;
      await recordOwn(tx, claimed.tenantId, restoreEvent(claimed, outcome));
    });
  }
}

import { hash } from 'node:crypto';
import { firstUuidAt } from '@indelible/protocol';
import { planAppend } from '../../server/src/log/sequencer.ts';
import { appendLogs, lockHeads } from '../../server/src/log/store.ts';
import { write } from '../../server/src/postgres/db.ts';
import type { TestService } from './service.ts';

const sha = (data: Uint8Array): Buffer => hash('sha256', data, 'buffer');

/**
 * Appends entries without events to a tenant's log up to `size`: a large log in a second. The entry
 * at a sequence is the same in every log.
 */
export async function growLog(
  { db }: Pick<TestService, 'db'>,
  tenantId: string,
  size: number,
): Promise<void> {
  for (let grown = false; !grown; ) {
    grown = await write(db, async (tx) => {
      const [head] = await lockHeads(tx, [tenantId], true);
      if (!head) throw new Error('the tenant has no log');
      const count = Math.min(8_192, size - head.size);
      if (count <= 0) return true;
      const entries = Array.from({ length: count }, (_, n) => entryOf(head.size + n));
      await appendLogs(tx, [planAppend(sha, head, entries, 1_700_000_000_000)]);
      return false;
    });
  }
}

const entryOf = (sequence: number) => ({
  version: 1 as const,
  uuid: firstUuidAt(1_600_000_000_000 + sequence),
  commitment: sha(Buffer.from(`entry ${sequence}`)),
});

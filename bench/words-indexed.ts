import { setTimeout as delay } from 'node:timers/promises';
import type { BenchService } from './bench-service.ts';

/**
 * Waits until the index of words has caught up. It waits itself while many callers record, so what
 * is measured next would share the processors with it.
 */
export async function wordsIndexed({ owner }: BenchService): Promise<void> {
  const waiting = `SELECT FROM log_heads h LEFT JOIN word_heads w USING (tenant_id)
    WHERE h.size - coalesce(w.size, 0) >= 256 LIMIT 1`;
  while ((await owner.query(waiting)).rowCount !== 0) await delay(200);
}

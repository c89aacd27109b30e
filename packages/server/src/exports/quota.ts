import { AppError, unavailable } from '../http/problem.ts';

/** What a tenant may have of exports that are made in the background. */
export interface ExportQuota {
  /** Waiting or being made. */
  unfinishedMax: number;
  /** Of files that are kept. */
  keptBytesMax: number;
  /** Whether the disk has room for further files. */
  hasDisk: () => Promise<boolean>;
}

export interface ExportUsage {
  unfinished: number;
  keptBytes: number;
}

/**
 * Whether the tenant may have one more, which `usage` does not count. Throws `rate_limited` with
 * the tenant's exports, and `unavailable` while the disk is low: the free space is for recording.
 */
export async function requireRoom(usage: ExportUsage, quota: ExportQuota): Promise<void> {
  const { unfinishedMax, keptBytesMax } = quota;
  if (!(await quota.hasDisk())) {
    throw unavailable('the disk of the service is nearly full: it makes no exports now', 60);
  }
  if (usage.unfinished >= unfinishedMax) {
    throw limited(`${usage.unfinished} exports of this tenant are not ready; wait, or cancel some`);
  }
  if (usage.keptBytes < keptBytesMax) return;
  const [kept, max] = [usage.keptBytes, keptBytesMax].map((bytes) => Math.ceil(bytes / 2 ** 20));
  throw limited(
    `the kept exports of this tenant have ${kept} of ${max} MiB; wait until some expire, after 7 days`,
  );
}

function limited(detail: string): AppError {
  return new AppError('rate_limited', detail, { headers: { 'retry-after': '60' } });
}

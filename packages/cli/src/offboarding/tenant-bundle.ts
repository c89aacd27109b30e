import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createClient } from '@indelible/client';
import type { OwnService } from '@indelible/server';
import { fileDigest } from '../bundle/checksums.ts';
import { exportBundle } from '../bundle/export-bundle.ts';
import { bundleFiles, parseManifest } from '../bundle/manifest.ts';
import { verifyBundle } from '../bundle/verify-bundle.ts';
import { plansOf } from '../connection.ts';
import { FindingError, UsageError } from '../exit-codes.ts';
import type { Io, Terminal } from '../io.ts';
import { showProgress } from '../verify/progress.ts';

/** The tenant and folder, and who makes it why: the tenant's log records that. */
export interface BundleToMake {
  tenantId: string;
  folder: string;
  reason: string;
  operatorEmail: string;
}

/**
 * The tenant's bundle before erasing: the existing one in the folder, or a new one. Continues an
 * interrupted one. Throws FindingError under legal hold, and for a damaged log.
 */
export async function makeBundle(
  { fetch, key }: OwnService,
  { tenantId, folder, reason, operatorEmail }: BundleToMake,
  stderr: Terminal,
): Promise<void> {
  const identity = { url: 'http://localhost', key, tenantId, reason, operatorEmail };
  const client = createClient({ ...identity, fetch, timeoutMs: 60_000 });
  if ((await client.tenants.get(tenantId)).legalHold) {
    throw new FindingError(
      'the tenant is under legal hold, so nothing of it can be erased: lift the hold first',
    );
  }
  const progress = await showProgress(stderr);
  const made = exportBundle(client, { tenantId, folder, withhold: [], progress });
  const { findings } = await made.finally(() => progress.stop());
  const [first] = findings.kept();
  if (first !== undefined) throw new FindingError(`the log is damaged. ${first.message}`);
}

/** Facts about a complete bundle of this tenant. */
export async function verifiedBundle(folder: string, tenantId: string, io: Io) {
  if (!existsSync(join(folder, bundleFiles.manifest))) {
    throw new UsageError(`${folder} exists and is not a bundle; name another folder`);
  }
  const progress = await showProgress(io.stderr);
  const plans = plansOf(io.env);
  const report = await verifyBundle(folder, { vkeys: [], plan: null, plans, progress }).finally(
    () => progress.stop(),
  );
  if (report.result !== 'intact')
    throw new FindingError(`the bundle is not complete. ${report.summary}`);
  const manifest = parseManifest(readFileSync(join(folder, bundleFiles.manifest), 'utf8'));
  const { origin, size, counts, withheld } = manifest;
  if (manifest.tenantId.toLowerCase() !== tenantId) {
    throw new UsageError('the bundle belongs to another tenant');
  }
  if (withheld.length > 0) {
    throw new UsageError(`the bundle lacks ${withheld.join(', ')}: make one without --withhold`);
  }
  const sha256 = fileDigest(join(folder, bundleFiles.sums));
  return { origin, size, events: counts.events, sha256 };
}

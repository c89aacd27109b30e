import { createHash } from 'node:crypto';
import { cpSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { WithholdableSegment } from '@indelible/protocol';
import { exportBundle } from '../bundle/export-bundle.ts';
import { type BundleOptions, verifyBundle } from '../bundle/verify-bundle.ts';
import { noProgress } from '../verify/log-source.ts';
import type { Report } from '../verify/report.ts';
import type { VerifiedService } from './verified-service.ts';

/** Exports a bundle of a service's log into a new folder, and returns the folder. */
export async function bundleOf(
  { clientOf, folder, tenant, service }: VerifiedService,
  withhold: WithholdableSegment[] = [],
  of = tenant,
): Promise<string> {
  const bundle = join(mkdtempSync(join(folder, 'bundle-')), 'bundle');
  const { findings } = await exportBundle(clientOf(of), {
    tenantId: of.id,
    folder: bundle,
    withhold,
    now: () => service.clock.now,
    progress: noProgress,
  });
  if (findings.count() > 0) throw new Error('the log is not intact');
  return bundle;
}

/** Runs `indelible verify <bundle>`. */
export function verifiedBundle(
  bundle: string,
  options: Partial<BundleOptions> = {},
): Promise<Report> {
  return verifyBundle(bundle, { vkeys: [], plan: null, progress: noProgress, ...options });
}

/** A copy of a bundle with a changed file and matching checksums. */
export function forgedBundle(
  bundle: string,
  name: string,
  change: (content: Buffer) => Buffer | string,
  more: Record<string, unknown> = {},
): string {
  const copy = `${bundle}-forged-${Math.random().toString(36).slice(2)}`;
  cpSync(bundle, copy, { recursive: true });
  const path = join(copy, name);
  writeFileSync(path, change(readFileSync(path)));
  const digest = (file: string) =>
    createHash('sha256')
      .update(readFileSync(join(copy, file)))
      .digest('hex');
  const sums = readFileSync(join(copy, 'SHA256SUMS'), 'utf8').replace(
    new RegExp(`^[0-9a-f]{64}  ${name.replaceAll('.', '\\.')}$`, 'm'),
    `${digest(name)}  ${name}`,
  );
  writeFileSync(join(copy, 'SHA256SUMS'), sums);
  const manifest = JSON.parse(readFileSync(join(copy, 'manifest.json'), 'utf8'));
  for (const file of Object.keys(manifest.sha256)) manifest.sha256[file] = digest(file);
  const events = readFileSync(join(copy, 'events.ndjson'), 'utf8');
  manifest.counts.events = events.split('\n').filter((line) => line !== '').length;
  writeFileSync(join(copy, 'manifest.json'), JSON.stringify({ ...manifest, ...more }));
  return copy;
}

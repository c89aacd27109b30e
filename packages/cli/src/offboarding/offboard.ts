import { existsSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createClient } from '@indelible/client';
import { counted } from '@indelible/protocol';
import type { OwnService, Requester } from '@indelible/server';
import { fileDigest } from '../bundle/checksums.ts';
import { exportBundle } from '../bundle/export-bundle.ts';
import { bundleFiles, parseManifest } from '../bundle/manifest.ts';
import { verifyBundle } from '../bundle/verify-bundle.ts';
import { plansOf } from '../connection.ts';
import { answer, FindingError, type Io, UsageError } from '../io.ts';
import { requireFolderOf } from '../kept-file.ts';
import { withProgress } from '../progress.ts';
import { asFinding } from '../server.ts';
import { aligned, visible } from '../text.ts';

export interface Offboarding {
  tenantId: string;
  /** The folder of the tenant's bundle. */
  folder: string;
  json: boolean;
}

/** A dry run: shows what `offboardWithBundle` would do, and with which bundle. */
export async function showOffboarding({ tenantId, folder, json }: Offboarding, io: Io) {
  const { offboardingOf } = await import('@indelible/server');
  const begun = await offboardingOf(io.env, tenantId).catch(asFinding);
  requireFolderOf(folder);
  const there = existsSync(folder) ? await verifiedBundle(folder, tenantId, io) : null;
  const bundle = begun?.bundle ?? there;
  const shown = { done: false, tenantId, begun: begun !== null, bundle };
  await answer(io, json, shown, offboardingText(tenantId, folder, bundle, begun !== null));
}

/**
 * Offboards a tenant: makes its bundle, verifies that, erases everything, and writes the
 * certificate beside the bundle. After an interruption the same call continues: with an existing
 * bundle, or with a partial one; if erasing has begun, only with the same bundle.
 */
export async function offboardWithBundle(
  { tenantId, folder, json }: Offboarding,
  requester: Requester,
  io: Io,
): Promise<void> {
  const { certificateText, offboardingOf, offboardTenant, withOwnService } = await import(
    '@indelible/server'
  );
  const begun = await offboardingOf(io.env, tenantId).catch(asFinding);
  const { certificate } = await withOwnService(io.env, async (service) => {
    if (begun === null && !existsSync(folder)) {
      await makeBundle(service, { tenantId, folder, ...requester }, io);
    }
    const bundle = begun?.bundle ?? (await verifiedBundle(folder, tenantId, io));
    const offboarding = { tenantId, bundle, ...requester };
    const { publish } = service;
    return offboardTenant(io.env, offboarding, { publish });
  }).catch(asFinding);
  if (certificate === null) {
    throw new FindingError(
      'the tenant is offboarded, but no checkpoint covers that yet: let the service run ' +
        'for ten seconds, then run the command again for the certificate',
    );
  }
  const text = certificateText(certificate);
  writeFileSync(`${folder}-certificate.json`, `${JSON.stringify(certificate, null, 2)}\n`);
  writeFileSync(`${folder}-certificate.txt`, text);
  await answer(io, json, { done: true, ...certificate }, `${visibleLines(text)}\n`);
}

const visibleLines = (text: string) => text.split('\n').map(visible).join('\n');

function offboardingText(
  tenantId: string,
  folder: string,
  bundle: { size: number; events: number } | null,
  begun: boolean,
): string {
  const given =
    bundle === null
      ? `made first, in ${visible(folder)}, and verified`
      : `${counted(bundle.events, 'event')}, the first ${counted(bundle.size, 'entry', 'entries')}: whole`;
  const rows = aligned([
    ['events', 'every one, and what the archive has of them'],
    ['and', 'API keys, sessions, links, saved searches, restores, webhooks, exports'],
    ['stays', 'the log itself: hashes, times and ids; what the service records from then on'],
    ['bundle', given],
  ]);
  const title = begun ? 'is being offboarded; erasing would continue' : 'would be erased';
  return `tenant ${tenantId}, ${title}:\n${rows}Nothing was erased. --yes erases it permanently.\n`;
}

/** Who makes the bundle, and why: the tenant's log records that. */
type BundleToMake = Pick<Offboarding, 'tenantId' | 'folder'> & Requester;

/**
 * The tenant's bundle before erasing: the existing one in the folder, or a new one. Continues an
 * interrupted one. Throws FindingError under legal hold, and for a damaged log.
 */
export async function makeBundle(
  { fetch, key }: OwnService,
  { tenantId, folder, reason, operatorEmail }: BundleToMake,
  io: Pick<Io, 'stderr'>,
): Promise<void> {
  const identity = { url: 'http://localhost', key, tenantId, reason, operatorEmail };
  const client = createClient({ ...identity, fetch, timeoutMs: 60_000 });
  if ((await client.tenants.get(tenantId)).legalHold) {
    throw new FindingError(
      'the tenant is under legal hold, so nothing of it can be erased: lift the hold first',
    );
  }
  const { findings } = await withProgress(io, (progress) =>
    exportBundle(client, { tenantId, folder, withhold: [], progress }),
  );
  const [first] = findings.kept();
  if (first !== undefined) throw new FindingError(`the log is damaged. ${first.message}`);
}

/** Facts about a complete bundle of this tenant. */
async function verifiedBundle(folder: string, tenantId: string, io: Io) {
  if (!existsSync(join(folder, bundleFiles.manifest))) {
    throw new UsageError(`${folder} exists and is not a bundle; name another folder`);
  }
  const manifest = await readFile(join(folder, bundleFiles.manifest), 'utf8')
    .then(parseManifest)
    .catch(asFinding);
  const { origin, size, counts, withheld, plan } = manifest;
  // The log's own record of the plan may have expired: the service that made the bundle knows it.
  const terms = { plan, plans: plansOf(io.env) };
  const report = await withProgress(io, (progress) =>
    verifyBundle(folder, { vkeys: [], ...terms, progress }),
  );
  if (report.result !== 'intact')
    throw new FindingError(`the bundle is not complete. ${report.summary}`);
  if (manifest.tenantId.toLowerCase() !== tenantId) {
    throw new UsageError('the bundle belongs to another tenant');
  }
  if (withheld.length > 0) {
    throw new UsageError(`the bundle lacks ${withheld.join(', ')}: make one without --withhold`);
  }
  const sha256 = fileDigest(join(folder, bundleFiles.sums));
  return { origin, size, events: counts.events, sha256 };
}

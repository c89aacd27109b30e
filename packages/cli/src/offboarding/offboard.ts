import { existsSync, writeFileSync } from 'node:fs';
import type { Offboarded, Requester } from '@indelible/server';
import { FindingError } from '../exit-codes.ts';
import { type Io, print } from '../io.ts';
import { asFinding } from '../server.ts';
import { aligned, grouped, jsonLine, visible } from '../text.ts';
import { makeBundle, verifiedBundle } from './tenant-bundle.ts';

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
  const there = existsSync(folder) ? await verifiedBundle(folder, tenantId, io) : null;
  const bundle = begun?.bundle ?? there;
  const shown = { done: false, tenantId, begun: begun !== null, bundle };
  await print(
    io,
    json ? jsonLine(shown) : offboardingText(tenantId, folder, bundle, begun !== null),
  );
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
  const left = await withOwnService(io.env, async (service) => {
    if (begun === null && !existsSync(folder)) {
      await makeBundle(service, { tenantId, folder, ...requester }, io.stderr);
    }
    const bundle = begun?.bundle ?? (await verifiedBundle(folder, tenantId, io));
    const offboarding = { tenantId, bundle, ...requester };
    return offboardTenant(io.env, offboarding, service.publish).catch(asFinding);
  });
  const { certificate } = requireCertificate(left);
  const text = certificateText(certificate);
  writeFileSync(`${folder}-certificate.json`, `${JSON.stringify(certificate, null, 2)}\n`);
  writeFileSync(`${folder}-certificate.txt`, text);
  await print(io, json ? jsonLine({ done: true, ...certificate }) : `${visibleLines(text)}\n`);
}

function requireCertificate({ certificate, ...left }: Offboarded) {
  if (certificate !== null) return { ...left, certificate };
  throw new FindingError(
    'the tenant is offboarded, but no checkpoint covers that yet: let the service run ' +
      'for ten seconds, then run the command again for the certificate',
  );
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
      : `${grouped(bundle.events)} event(s), the first ${grouped(bundle.size)} entries: whole`;
  const rows = aligned([
    ['events', 'every one, and what the archive has of them'],
    ['and', 'API keys, sessions, links, saved searches, restores, webhooks, exports'],
    ['stays', 'the log itself: hashes, times and ids; what the service records from then on'],
    ['bundle', given],
  ]);
  const title = begun ? 'is being offboarded; erasing would continue' : 'would be erased';
  return `tenant ${tenantId}, ${title}:\n${rows}Nothing was erased. --yes erases it permanently.\n`;
}

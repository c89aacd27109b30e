import { formatTimestamp } from '@indelible/protocol';
import type { Offboarding } from './offboard.store.ts';

export type OffboardingCertificate = ReturnType<typeof certificateOf>;

/**
 * The certificate for the tenant: what a finished offboarding removed, what remains, and the proof.
 * `checkpoint` is the first signed one that covers its record.
 */
export function certificateOf(
  { tenantId, size, record, reason, bundle, counts, closedAtMs, finishedAtMs }: Offboarding,
  tenantName: string,
  checkpoint: string,
) {
  return {
    format: 'indelible-offboarding/v1',
    tenantId,
    tenantName,
    reason,
    closedAt: formatTimestamp(closedAtMs),
    finishedAt: formatTimestamp(finishedAtMs ?? closedAtMs),
    removed: counts,
    /** The one that the tenant got: `sha256` is of its SHA256SUMS. */
    bundle,
    /** Entries whose events were removed; the entries remain. */
    log: { entries: size, record, checkpoint },
  };
}

export function certificateText(certificate: OffboardingCertificate): string {
  const { tenantId, tenantName, reason, closedAt, finishedAt, removed, bundle, log } = certificate;
  const counts = Object.entries(removed).map(([what, count]) => `  ${what.padEnd(12)} ${count}`);
  return `Certificate of offboarding

Tenant       ${tenantId} (${tenantName})
Reason       ${reason}
Closed at    ${closedAt}: from then on its log took no more events
Finished at  ${finishedAt}: nothing of what follows is stored any more

Removed
${counts.join('\n')}

Handed over before: a bundle of ${bundle.events} events, which covers the first ${bundle.size} entries
of the log. SHA-256 of its SHA256SUMS:
  ${bundle.sha256}

The ${log.entries} entries of the log stay. They hold no personal data: hashes, times and the ids of
events. Entry ${log.record} records this offboarding; the checkpoint that covers it:

${log.checkpoint}`;
}

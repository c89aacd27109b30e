import type { Manifest } from './manifest.ts';

/** The text that explains a bundle to its reader. */
export function readmeText(manifest: Omit<Manifest, 'sha256'>): string {
  const { tenantId, origin, size, madeAt, withheld, plan, cutoff, counts } = manifest;
  const hidden =
    withheld.length === 0
      ? 'Nothing is withheld.'
      : `Withheld, in every event: ${withheld.join(', ')}. The rest can still be verified.`;
  const older =
    cutoff === null
      ? 'No event is known to have expired.'
      : `Events from before ${cutoff} may have expired${plan === null ? '' : ` under the plan ${plan}`}:\n` +
        'their entries are still in the log, their content is gone.';
  return `AUDIT LOG BUNDLE

This folder holds the audit log of one tenant of a service, as it was on ${madeAt},
with everything that is needed to verify it without asking that service.

  tenant    ${tenantId}
  log       ${origin}
  entries   ${size}
  events    ${counts.events}

${hidden}
${older}
${contents}${limits}`;
}

const contents = `

WHAT IS IN IT

  checkpoint           what the service has signed: name, number of entries, root hash
  indelible-log.json   the keys that sign, as the service states them
  tile/                the log: entries of 60 bytes and the hashes above them
                       (the layout of c2sp.org/tlog-tiles)
  events.ndjson        the events, one a line, with the salts that open their entries
  retention.json       where the log records that expired events were removed: an index alone
  manifest.json        what this folder holds, in a form for programs
  SHA256SUMS           checksums of all files but the manifest, which holds that of SHA256SUMS


HOW TO VERIFY IT

With the program that made it, had from elsewhere than from whom you audit (it is open source and
needs Node 24, no service and no network):

  indelible verify .

It recomputes every entry from its event, every hash from the entries, and the root; it checks
the signature of the checkpoint; and it names the first event that is not as it was logged.
The keys in this folder are only as good as where you had the folder from. Ask the operator for
the key by another way, and give it: indelible verify . --vkey '<key>'

Events that the tenant's plan no longer shows are absent. The log's own records tell which plan that
is; where those have expired too, name the plan you know: indelible verify . --plan <plan>

A table that the service has exported (CSV) can be held against this folder:

  indelible verify --bundle . table.csv

Without that program:

  sha256sum -c SHA256SUMS          nothing was damaged on the way
  sha256sum SHA256SUMS             compare with manifest.json

and any program that verifies C2SP checkpoints and tiles (signed notes with Ed25519, trees of
RFC 6962 with SHA-256) can check the signature and the tree over the entries. How an event
becomes an entry is described in the documentation of the service ("Log format").

`;

const limits = `
WHAT IT PROVES, AND WHAT NOT

If it verifies, then the entries are exactly those the checkpoint was signed over, in their
order, and each event in this folder is what was logged: nothing was edited, removed, inserted
or moved between the moment it was logged and the moment the checkpoint was signed, nor since.

It does not prove that what was logged is true, nor that everything that happened was logged.
It does not prove that others are shown the same log: compare the checkpoint (its size and root
hash) with the one that another reader has.
It says nothing of events recorded after the checkpoint, and of expired events only that
they were there.
`;

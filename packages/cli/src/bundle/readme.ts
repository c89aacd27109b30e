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
        'their entries are still in the log, their content is not.';
  return `AUDIT LOG BUNDLE

This folder holds the audit log of one tenant of a service, as it was on ${madeAt}, and
everything that is needed to verify it without that service.

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

  checkpoint           what the service signed: name of the log, number of entries, root hash
  indelible-log.json   the keys that sign, as the service states them
  tile/                the log: entries of 60 bytes and the hashes above them
                       (the layout of c2sp.org/tlog-tiles)
  events.ndjson        the events, one a line, with the salts that open their entries
  retention.json       an index: where the log records that expired events were removed
  manifest.json        the content of this folder, for programs
  SHA256SUMS           checksums of all files but the manifest, which has that of SHA256SUMS


HOW TO VERIFY IT

With the program "indelible". Get it from another source than this folder. It is open source, and needs
Node 24, but no service and no network:

  indelible verify .

It recomputes every entry from its event, every hash from the entries, and the root; it checks
the signature of the checkpoint; and it names the first event that differs from its entry.
A forger of this folder can also forge the key in it. Ask the operator for the key by another way,
and pass it: indelible verify . --vkey '<key>'

Events that the tenant's plan no longer shows are absent. The records of the log say which plan that
is. If those have expired too, name the plan that you know: indelible verify . --plan <plan>

To compare a file that the service exported (such as a CSV) with the SHA-256 that the log recorded of it:

  indelible verify --bundle . table.csv

Without that program:

  sha256sum -c SHA256SUMS          no file was damaged on the way
  sha256sum SHA256SUMS             compare with manifest.json

Any program that verifies C2SP checkpoints and tiles (signed notes with Ed25519, trees of
RFC 6962 with SHA-256) can check the signature and the tree over the entries. The documentation of
the service ("Log format") says how an event becomes an entry.

`;

const limits = `
WHAT IT PROVES, AND WHAT NOT

If it verifies, the entries are exactly those that the checkpoint signs, in their order, and each
event in this folder is the recorded one: since it was recorded, none was edited, removed, inserted
or moved.

It does not prove that the events are true, nor that everything that happened was recorded.
It does not prove that others see the same log: compare the checkpoint (its size and root hash) with
the one that another reader has.
It says nothing about events that were recorded after the checkpoint. Of expired events it proves
only that they existed.
`;

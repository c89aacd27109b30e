import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import type { IndelibleClient } from '@indelible/client';
import {
  counted,
  type EventBody,
  formatAnyTimestamp,
  parseEventProof,
  proofLimits,
  readOrNull,
  uuidTimeMs,
  verifyEventProof,
  withheldSegments,
} from '@indelible/protocol';
import type { BundleCheck } from '../bundle/verify-bundle.ts';
import { sentenceOf, UsageError } from '../io.ts';
import { sha } from './hashing.ts';
import { type Report, verified } from './report.ts';
import { keysFor, nullWhenFailed } from './service-log.ts';
import { trustedCheckpoint } from './trusted-checkpoint.ts';

/* A file of the service (CSV, NDJSON) against the record of its export in the log, which holds the
 * SHA-256 of the whole file. */

interface ExportOptions {
  path: string;
  vkeys: readonly string[];
}

/** Compares a file with the exports that the service proves it has recorded. */
export async function verifyExport(
  client: IndelibleClient,
  { path, vkeys }: ExportOptions,
): Promise<Report> {
  const digest = await digestOf(path);
  return verified('export', path, undefined, async ({ findings }) => {
    // Lists show no states, which have the SHA-256; the newest export comes first.
    for await (const { id } of client.list({ action: 'export', resource: 'export' })) {
      const proof = await client.log.proof(id).catch(nullWhenFailed);
      const parsed = proof && readOrNull(() => parseEventProof(proof));
      if (!proof || !parsed || !isExportOf(parsed.body, digest)) continue;
      const note = new TextEncoder().encode(parsed.checkpoint);
      const keys = await keysFor(client, note, vkeys);
      const signed = await trustedCheckpoint(note, keys, findings);
      if (signed === null) return { signed };
      const verdict = await verifyEventProof(sha, proof, keys.vkeys);
      if (verdict.code !== 'valid') findings.add('export_unknown', verdict.message);
      const follows = [sameAs(parsed.body), verdict.message];
      return { signed, follows, doesNotFollow: [exportLimits, proofLimits] };
    }
    findings.add('export_unknown', unknown(digest));
    return { signed: null };
  });
}

/** Compares a file with the exports in a bundle. */
export async function exportCheck(path: string): Promise<BundleCheck> {
  const digest = await digestOf(path);
  let found: EventBody | null = null;
  let withheld = 0;
  return {
    what: 'export',
    subject: path,
    onIntact(body) {
      if (isExportOf(body, digest)) found ??= body;
      else if (isExport(body) && withheldSegments(body).includes('state')) withheld += 1;
    },
    finish({ findings }) {
      const doesNotFollow = [exportLimits];
      if (found !== null) return { follows: [sameAs(found)], doesNotFollow };
      if (withheld === 0) findings.add('export_unknown', unknown(digest));
      const hidden =
        `Which files the log records: ${counted(withheld, 'export')} of the bundle ` +
        'withhold their state, which has the SHA-256.';
      return { unproven: withheld > 0 ? [hidden] : [], doesNotFollow };
    },
  };
}

async function digestOf(path: string): Promise<string> {
  const hash = createHash('sha256');
  try {
    for await (const chunk of createReadStream(path)) hash.update(chunk);
  } catch (error) {
    throw new UsageError(`${path} cannot be read: ${sentenceOf(error)}`);
  }
  return hash.digest('hex');
}

/** Whether the service records here that an export ended. */
function isExport({ event }: EventBody): boolean {
  const { action, resourceType, recordedByKind } = event;
  return recordedByKind === 'service' && action === 'export' && resourceType === 'export';
}

const isExportOf = (body: EventBody, digest: string) =>
  isExport(body) && recorded(body).sha256 === digest;

/** What the service recorded of the file. */
function recorded({ event }: EventBody): { sha256?: unknown; rows?: unknown; bytes?: unknown } {
  return JSON.parse(event.after ?? '{}');
}

function sameAs(body: EventBody): string {
  const { id, uuid, sequence } = body.event;
  const { rows, bytes } = recorded(body);
  return (
    `The file is byte for byte the one that the service made: ${bytes} bytes, ${rows} rows, by the record ` +
    `${id} at sequence ${sequence} of the log, of ${formatAnyTimestamp(uuidTimeMs(uuid))}.`
  );
}

const unknown = (digest: string) =>
  `No export that the log records has a file with the SHA-256 ${digest}: the file was changed or ` +
  'saved again, the service did not make it, or its record is newer than the checkpoint or expired.';

const exportLimits =
  'That each row is the recorded event, or that none is missing: the log has the hash of the ' +
  "file, as the service made it. The export's record of access names its filters; a bundle or " +
  'the whole log proves the events.';

import { type IndelibleClient, IndelibleError } from '@indelible/client';
import {
  type Checkpoint,
  compareCheckpoints,
  createFindings,
  eventIdFromUuid,
  type Findings,
  formatTimestamp,
  type Plan,
  parseHex,
  retentionCutoff,
  uuidFromBytes,
} from '@indelible/protocol';
import { addDamage } from './damage.ts';
import { EntryFile } from './entry-file.ts';
import { readBodies } from './log-bodies.ts';
import { readEntries } from './log-entries.ts';
import type { Progress, TileSource } from './log-source.ts';
import { headBelow, judgeNewer, NewerLines } from './newer-events.ts';
import { type Outcome, type Report, reportOf } from './report.ts';
import type { SeenCheckpoint, SeenCheckpoints } from './seen-checkpoints.ts';
import {
  claimedOrigin,
  type Keys,
  type SignedCheckpoint,
  trustedCheckpoint,
} from './trusted-checkpoint.ts';

export interface TenantOptions {
  tenantId: string;
  /** vkey lines known from elsewhere; empty: those that the service itself states. */
  vkeys: readonly string[];
  /** The plan the caller knows the tenant has, to hold against the cutoff the service states. */
  plan: Plan | null;
  seen: SeenCheckpoints;
  /** The log may have another origin than when this machine saw it last. */
  reopened: boolean;
  progress: Progress;
}

/**
 * Verifies a tenant's whole log through the API: signature, entries, root, hash tiles, bodies, and
 * consistency with what this machine has seen before; remembers the checkpoint when all is well. The
 * client must be bound to the tenant. Throws what the client throws; damage is in the report.
 */
export async function verifyTenant(
  client: IndelibleClient,
  options: TenantOptions,
): Promise<Report> {
  const startedAt = performance.now();
  const findings = createFindings();
  const subject = options.tenantId;
  const signed = await latestCheckpoint(client, options.vkeys, findings);
  if (signed === null) {
    return reportOf({ what: 'log', subject, signed, checked: {}, findings, startedAt });
  }
  const file = new EntryFile();
  const newer = new NewerLines(signed.checkpoint.size);
  try {
    const run = { client, options, findings, signed, file, newer };
    const outcome = await verifyAgainst(run);
    const report = reportOf({ ...outcome, subject, what: 'log', findings, signed, startedAt });
    if (report.result === 'intact') options.seen.add(run.signed.note, new Date());
    return report;
  } finally {
    file.close();
    newer.close();
  }
}

interface Run {
  client: IndelibleClient;
  options: TenantOptions;
  findings: Findings;
  signed: SignedCheckpoint;
  file: EntryFile;
  newer: NewerLines;
}

/** The latest checkpoint, once its signature is found good; otherwise null, and a finding. */
export async function latestCheckpoint(
  client: IndelibleClient,
  pinned: readonly string[],
  findings: Findings,
): Promise<SignedCheckpoint | null> {
  const note = await client.log.checkpoint();
  return trustedCheckpoint(note, await keysFor(client, note, pinned), findings);
}

async function keysFor(
  client: IndelibleClient,
  note: Uint8Array,
  pinned: readonly string[],
): Promise<Keys> {
  if (pinned.length > 0) return { source: 'pinned', vkeys: [...pinned] };
  const origin = claimedOrigin(note);
  if (origin === null) return { source: 'service', vkeys: [] };
  const stated = await client.log.keys(origin).catch((error: unknown) => {
    // An origin that is none of the service's has no keys.
    if (error instanceof IndelibleError && error.code === 'invalid_parameter') return { keys: [] };
    throw error;
  });
  return { source: 'service', vkeys: stated.keys.map(({ vkey }) => vkey) };
}

/** The log id within an origin, `<host>/l/<32 hex>`. */
export function logIdOf({ origin }: Checkpoint): string {
  return /\/l\/([0-9a-f]{32})$/.exec(origin)?.[1] ?? '';
}

type Verified = Pick<
  Outcome,
  'checked' | 'earlierSizes' | 'seen' | 'latestCutoffMs' | 'eventIdAt' | 'doesNotFollow'
>;

async function verifyAgainst(run: Run): Promise<Verified> {
  const { client, options, findings, signed, file, newer } = run;
  const { checkpoint } = signed;
  const { tenantId, progress } = options;
  const logId = logIdOf(checkpoint);
  const source = tileSource(client, logId);
  const earlier = await compareWithSeen(run);
  const log = { source, checkpoint, findings, file, progress };
  const { tiles } = await readEntries({ ...log, earlier: earlier.map((seen) => seen.checkpoint) });
  const entries = file.size;
  const chunks = client.log.bodies(logId);
  const onLine = (line: Uint8Array) => newer.look(line);
  const wanted = { ...log, chunks, tenantId, records: [], onLine } as const;
  const bodies = await readBodies({ ...wanted, beyondCheckpoint: 'newer' });
  compareWithPlan(run, bodies.planCutoffMs);
  const checked = { entries, tiles, bodies: bodies.counts };
  const isWhole = entries === checkpoint.size && newer.count > 0;
  const size = isWhole ? await judgeNewer({ ...log, client, lines: newer, tenantId }) : entries;
  return {
    checked: newer.count === 0 ? checked : { ...checked, newer: { events: newer.count, size } },
    seen: earlier.at(-1) ?? null,
    earlierSizes: earlier.map((seen) => seen.checkpoint.size),
    latestCutoffMs: bodies.latestCutoffMs,
    eventIdAt: (sequence) =>
      sequence < file.size ? eventIdFromUuid(uuidFromBytes(file.at(sequence), 12)) : null,
  };
}

/** The tiles of a log as the service serves them. */
export function tileSource(client: IndelibleClient, logId: string): TileSource {
  // The lowest hash tiles are made of the entries when they are asked for: they could not differ.
  return { tile: (path) => client.log.tile(logId, path), tilesAtOnce: 8, lowestKeptLevel: 1 };
}

/** Judges the checkpoint by those seen before, and returns those that the entries must agree with. */
async function compareWithSeen({ client, options, findings, signed }: Run) {
  const { checkpoint } = signed;
  const seen = options.seen.load();
  const last = seen.at(-1)?.checkpoint;
  const own = seen.filter((each) => each.checkpoint.origin === checkpoint.origin);
  const first = own.at(-1)?.checkpoint.size ?? checkpoint.size;
  await compareWithHead(client, checkpoint, findings);
  if (last === undefined) return [];
  if (last.origin !== checkpoint.origin) {
    if (!options.reopened) addOtherLog(findings, last, checkpoint);
    return fitting(own, checkpoint);
  }
  const path = first < checkpoint.size ? await consistencyPath(client, first, checkpoint.size) : [];
  const { code, message } = compareCheckpoints(sha, last, checkpoint, path);
  if (code !== 'same' && code !== 'extends') {
    const sequence = code === 'rolled_back' ? checkpoint.size : null;
    addDamage(findings, code, message, { sequence });
  }
  return fitting(own, checkpoint);
}

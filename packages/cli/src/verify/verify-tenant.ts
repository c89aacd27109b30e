import { type IndelibleClient, IndelibleError } from '@indelible/client';
import { counted, type Findings, type Plan, type Plans } from '@indelible/protocol';
import type { Reading } from './entry-file.ts';
import { readBodies } from './log-bodies.ts';
import { readEntries, type Span } from './log-entries.ts';
import type { Progress } from './log-source.ts';
import { judgeNewer, NewerLines } from './newer-events.ts';
import { requireProven } from './reopened-log.ts';
import { type Outcome, type Report, verified } from './report.ts';
import type { SeenCheckpoint, SeenCheckpoints } from './seen-checkpoints.ts';
import { compareWithSeen, type SeenComparison } from './seen-comparison.ts';
import { checkpointOf, logIdOf, newestCheckpoint, serviceTiles } from './service-log.ts';
import { compareWithWindows, type SignedCheckpoint } from './trusted-checkpoint.ts';

export interface TenantOptions {
  tenantId: string;
  /** vkey lines from another source; empty: those that the service states. */
  vkeys: readonly string[];
  /** The tenant's plan according to the user, compared with the service's cutoff. */
  plan: Plan | null;
  /** The service's plans; default: the default plans. */
  plans?: Plans | undefined;
  /** The checkpoints of this machine; null: it compares with none, and keeps none. */
  seen: SeenCheckpoints | null;
  /** No newer checkpoint is signed for this: the log stays as it is. */
  isPassive?: boolean;
  /** The log may have another origin than before, if it records that. */
  reopened: boolean;
  /** The service's answer if it cannot record; null if it can. */
  refusal?: string | null;
  /** The clock for cutoffs; default: the machine's. */
  now?: () => number;
  /** Whether the log records what is looked at, as for an operator: then it is the log alone. */
  isRecorded?: boolean;
  progress: Progress;
}

/**
 * Verifies a tenant's whole log through the API: signature, entries, root, hash tiles, bodies, and
 * consistency with earlier checkpoints of this machine. Stores the checkpoint if there is no
 * damage. The client must be bound to the tenant. Throws its errors; damage is in the report.
 */
export async function verifyTenant(
  client: IndelibleClient,
  options: TenantOptions,
): Promise<Report> {
  const { tenantId, progress, seen } = options;
  const report = await verified('log', tenantId, progress, async (reading) => {
    const signed = await checkpointToVerify(client, options, reading.findings);
    if (signed === null) return { signed };
    const newer = new NewerLines(signed.checkpoint.size);
    const run = { client, options, signed, newer };
    return verifyAgainst(reading, run).finally(() => newer.close());
  });
  const { result, checkpoint } = report;
  // Unproven absences do not affect the entries: the log must continue from them.
  if (result !== 'damaged' && checkpoint !== null) seen?.add(checkpoint.note, new Date());
  return report;
}

/** The latest checkpoint, of everything recorded so far if the service can sign one. */
async function checkpointToVerify(
  client: IndelibleClient,
  { vkeys, seen, refusal = null, isPassive = false }: TenantOptions,
  findings: Findings,
): Promise<SignedCheckpoint | null> {
  try {
    const canSign = refusal === null && !isPassive;
    const note = await (canSign ? newestCheckpoint(client) : client.log.checkpoint());
    return await checkpointOf(note, client, vkeys, findings);
  } catch (error) {
    if (error instanceof IndelibleError && error.code === 'log_damaged') {
      findings.add('service_halted', `The service says: ${error.message}.`);
      return null;
    }
    const last = seen?.load().findLast((each) => seen.isOfService(each, null));
    const isMissing = error instanceof IndelibleError && error.code === 'not_found';
    if (!isMissing || !seen || last === undefined) throw error;
    const { origin, size } = last.checkpoint;
    const message =
      `The service says that ${error.message}, but this machine has seen ${origin} with ` +
      `${counted(size, 'entry', 'entries')}, at ${last.seenAt}: ${seen.path} remembers it.`;
    findings.add('missing_log', message, { sequence: 0 });
    return null;
  }
}

interface Run {
  client: IndelibleClient;
  options: TenantOptions;
  signed: SignedCheckpoint;
  newer: NewerLines;
}

async function verifyAgainst(reading: Reading, run: Run): Promise<Outcome> {
  const { findings, file, records } = reading;
  const { client, options, signed, newer } = run;
  const { checkpoint } = signed;
  const { tenantId, reopened, vkeys, refusal = null, now = Date.now } = options;
  if (refusal !== null) {
    findings.add('service_halted', `The service says: ${refusal}.`);
  }
  const all = options.seen?.load() ?? [];
  const seen = all.filter((each) => options.seen?.isOfService(each, checkpoint.origin));
  const former = { seen, seenPath: options.seen?.path ?? '', reopened };
  const wanted = { client, tenantId, shown: checkpoint, ...former, vkeys, findings };
  const known = await compareWithSeen(wanted);
  const earlier = known.earlier.map((each) => each.checkpoint);
  const log = { source: serviceTiles(client, signed), checkpoint, tenantId };
  const { tiles, differs } = await readEntries(reading, { ...log, earlier });
  const entries = file.size;
  const isWhole = entries === checkpoint.size;
  if (isWhole) compareWithWindows(reading, signed);
  const read = await readBodies(reading, {
    ...log,
    chunks: client.log.bodies(logIdOf(checkpoint)),
    onLine: (line) => newer.look(line),
    beyondCheckpoint: 'newer',
  });
  const size = isWhole ? await judgeNewer(reading, { ...log, client, lines: newer }) : entries;
  // Not earlier: a plan may have changed since the checkpoint.
  const claims = { nowMs: now(), statedPlan: null, knownPlan: options.plan, plans: options.plans };
  const { counts, ...bodies } = read.finish(claims);
  if (known.reopened !== null) requireProven(known.reopened, records, findings);
  return {
    signed,
    checked: {
      entries,
      tiles,
      bodies: counts,
      ...(newer.count > 0 ? { newer: { events: newer.count, size } } : {}),
    },
    ...bodies,
    seen: seen.at(-1) ?? null,
    earlierSizes: earlier.map((each) => each.size),
    differs: differs ?? rolledBackSpan(known, checkpoint.size),
    doesNotFollow: [...known.doesNotFollow, ...elsewhere(all, seen)],
  };
}

/** Entries were removed from here on, or from an unknown point after the last unchanged one. */
function rolledBackSpan({ isRolledBack, earlier }: SeenComparison, size: number): Span | null {
  return isRolledBack ? { from: earlier.at(-1)?.checkpoint.size ?? 0, to: size } : null;
}

/** Checkpoints under this tenant's UUID that belong to another service. */
function elsewhere(all: readonly SeenCheckpoint[], own: readonly SeenCheckpoint[]): string[] {
  const last = all.findLast((each) => !own.includes(each));
  if (last === undefined) return [];
  const { origin, size } = last.checkpoint;
  return [
    `Anything about the log ${origin}, of which this machine has seen ${size} entries at ` +
      `${last.service}: it is another service's, and was not compared.`,
  ];
}

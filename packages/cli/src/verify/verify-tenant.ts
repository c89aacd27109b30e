import type { IndelibleClient } from '@indelible/client';
import type { Plan } from '@indelible/protocol';
import { type AllFindings, addDamage, createAllFindings } from './damage.ts';
import { EntryFile } from './entry-file.ts';
import { readBodies } from './log-bodies.ts';
import { readEntries } from './log-entries.ts';
import type { Progress } from './log-source.ts';
import { judgeNewer, NewerLines } from './newer-events.ts';
import { compareWithPlan } from './plan-comparison.ts';
import { eventIdAt, type Outcome, type Report, reportOf } from './report.ts';
import type { SeenCheckpoints } from './seen-checkpoints.ts';
import { compareWithSeen } from './seen-comparison.ts';
import { latestCheckpoint, logIdOf, serviceTiles } from './service-log.ts';
import type { SignedCheckpoint } from './trusted-checkpoint.ts';

export interface TenantOptions {
  tenantId: string;
  /** vkey lines known from elsewhere; empty: those that the service itself states. */
  vkeys: readonly string[];
  /** The plan the caller knows the tenant has, to hold against the cutoff the service states. */
  plan: Plan | null;
  seen: SeenCheckpoints;
  /** The log may have another origin than when this machine saw it last, if it records that. */
  reopened: boolean;
  /** What the service says when it is asked whether it can record; null when it can. */
  refusal?: string | null;
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
  const findings = createAllFindings();
  const about = { what: 'log', subject: options.tenantId, findings, startedAt } as const;
  const signed = await latestCheckpoint(client, options.vkeys, findings);
  if (signed === null) return reportOf({ ...about, signed, checked: {} });
  const file = new EntryFile();
  const newer = new NewerLines(signed.checkpoint.size);
  try {
    const outcome = await verifyAgainst({ client, options, findings, signed, file, newer });
    const report = reportOf({ ...about, ...outcome, signed });
    if (report.result === 'intact') options.seen.add(signed.note, new Date());
    return report;
  } finally {
    file.close();
    newer.close();
  }
}

interface Run {
  client: IndelibleClient;
  options: TenantOptions;
  findings: AllFindings;
  signed: SignedCheckpoint;
  file: EntryFile;
  newer: NewerLines;
}

type Verified = Pick<
  Outcome,
  'checked' | 'earlierSizes' | 'seen' | 'latestCutoffMs' | 'differs' | 'doesNotFollow' | 'eventIdAt'
>;

async function verifyAgainst({
  client,
  options,
  findings,
  signed,
  file,
  newer,
}: Run): Promise<Verified> {
  const { checkpoint } = signed;
  const { tenantId, progress, reopened, refusal = null } = options;
  if (refusal !== null) {
    addDamage(findings, 'service_halted', `The service says: ${refusal}.`);
  }
  const seen = options.seen.load();
  const wanted = { client, tenantId, shown: checkpoint, seen, reopened, findings };
  const { earlier, doesNotFollow } = await compareWithSeen(wanted);
  const log = { source: serviceTiles(client, signed), checkpoint, findings, file, progress };
  const { tiles, differs } = await readEntries({
    ...log,
    earlier: earlier.map((each) => each.checkpoint),
  });
  const entries = file.size;
  const bodies = await readBodies({
    ...log,
    chunks: client.log.bodies(logIdOf(checkpoint)),
    tenantId,
    records: [],
    onLine: (line) => newer.look(line),
    beyondCheckpoint: 'newer',
  });
  compareWithPlan(options.plan, bodies.planCutoffMs, findings);
  const isWhole = entries === checkpoint.size;
  const size = isWhole ? await judgeNewer({ ...log, client, lines: newer, tenantId }) : entries;
  return {
    checked: {
      entries,
      tiles,
      bodies: bodies.counts,
      ...(newer.count > 0 ? { newer: { events: newer.count, size } } : {}),
    },
    seen: seen.at(-1) ?? null,
    earlierSizes: earlier.map((each) => each.checkpoint.size),
    latestCutoffMs: bodies.latestCutoffMs,
    differs,
    doesNotFollow,
    eventIdAt: (sequence) => eventIdAt(file, sequence),
  };
}

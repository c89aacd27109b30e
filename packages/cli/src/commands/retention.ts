import { counted } from '@indelible/protocol';
import type { RetentionPlan, RetentionRun } from '@indelible/server';
import type { Command } from 'commander';
import { answer, type Io } from '../io.ts';
import { onServer } from '../server.ts';
import { visible } from '../text.ts';

const help = `
Runs as the owner of the database: DATABASE_OWNER_URL, or the embedded PostgreSQL, also while
a service is using it. A service with the owner's login runs it every hour; otherwise run
"indelible retention run" daily by cron.
A partition that is being read, for example by a backup, is retried every two minutes for an hour.

A run uses the time that a run of the previous day has seen, so that a clock that is wrong for
some hours removes nothing: events are removed one or two days after they have expired.`;

type Options = { json?: boolean; dryRun?: boolean };

export function retentionCommand(program: Command, io: Io): void {
  const retention = program
    .command('retention')
    .description("remove events that their tenants' plans no longer keep")
    .addHelpText('after', help);
  retention
    .command('plan')
    .description('show, tenant by tenant, what a run would remove now')
    .action(({ json = false }: Options) => showPlan(io, json));
  retention
    .command('run')
    .description('make partitions ahead, move events after plan changes, remove expired events')
    .option('--dry-run', 'only show what would be removed, like plan')
    .action(({ dryRun = false, json = false }: Options) =>
      dryRun ? showPlan(io, json) : showRun(io, json),
    );
}

async function showPlan(io: Io, json: boolean): Promise<void> {
  const plan = await onServer(io, ({ retentionPlan }) => retentionPlan(io.env));
  await answer(io, json, shownJson(plan), planText(plan));
}

async function showRun(io: Io, json: boolean): Promise<void> {
  const patience = setTimeout(() => io.stderr.write(stillAtIt), stillAtItMs);
  const run = await onServer(io, ({ retentionRun }) => retentionRun(io.env)).finally(() =>
    clearTimeout(patience),
  );
  const busy = 'another process runs retention: nothing done\n';
  if (run === null) await answer(io, json, { busy: true }, busy);
  else await answer(io, json, { busy: false, ...shownJson(run) }, runText(run));
}

const stillAtItMs = 20_000;
const stillAtIt =
  'still running: a partition that is being read (by a backup, for example) is retried ' +
  'for an hour; if you stop this run, the next one continues it\n';

const iso = (ms: number) => new Date(ms).toISOString();

/** A plan or a run, with times as texts and partitions by their names. */
function shownJson(of: RetentionPlan | RetentionRun) {
  const { believedMs, ...others } = of;
  return {
    asOf: believedMs === null ? null : iso(believedMs),
    ...others,
    tenants: of.tenants.map(({ cutoffMs, ...tenant }) => ({ ...tenant, cutoff: iso(cutoffMs) })),
    kept: of.kept.map(({ partition, tenantIds }) => {
      return { partition: partition.name, owedTo: tenantIds };
    }),
  };
}

function planText({ believedMs, moving, tenants, dropping, kept }: RetentionPlan): string {
  const lines = tenants.map(
    ({ tenantId, name, plan, cutoffMs, count }) =>
      `tenant ${tenantId} ${visible(name)} (${plan}): ${counted(count, 'event')} from before ${iso(cutoffMs)}`,
  );
  if (lines.length === 0) lines.push('nothing would be removed');
  if (moving > 0)
    lines.push(`${counted(moving, 'event')} would be moved to the class of their plan`);
  if (dropping.length > 0) lines.push(`partitions that would be dropped: ${dropping.join(', ')}`);
  return [clockText(believedMs), ...lines, ...keptLines(kept)].map((line) => `${line}\n`).join('');
}

function runText({ believedMs, moved, tenants, dropped, waiting, kept }: RetentionRun): string {
  const lines = tenants.map(
    ({ tenantId, plan, cutoffMs, count }) =>
      `tenant ${tenantId} (${plan}): ${counted(count, 'event')} from before ${iso(cutoffMs)} removed`,
  );
  if (lines.length === 0) lines.push('nothing was removed');
  if (moved > 0) lines.push(`${counted(moved, 'event')} moved to the class of their plan`);
  if (dropped.length > 0) lines.push(`partitions dropped: ${dropped.join(', ')}`);
  if (waiting.length > 0)
    lines.push(`still being read, retried by the next run: ${waiting.join(', ')}`);
  return [clockText(believedMs), ...lines, ...keptLines(kept)].map((line) => `${line}\n`).join('');
}

function clockText(believedMs: number | null): string {
  if (believedMs === null)
    return 'no earlier run has confirmed this clock: expired events are kept for another day';
  return `by the clock as a run confirmed it a day ago: ${iso(believedMs)}`;
}

function keptLines(kept: RetentionPlan['kept']): string[] {
  return kept.map(
    ({ partition, tenantIds }) =>
      `kept: ${partition.name}, which holds events that are still kept for ${tenantIds.join(', ')}`,
  );
}

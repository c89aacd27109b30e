import { counted, withCommas } from '@indelible/protocol';
import type { PartRow, RestoredArchive, TenantArchive } from '@indelible/server';
import type { Command } from 'commander';
import { verifyArchive } from '../archive/verify-archive.ts';
import { tenantIdArgument } from '../arguments.ts';
import { plansOf } from '../connection.ts';
import { answer, exitCodes, FindingError, type Io, UsageError } from '../io.ts';
import { withProgress } from '../progress.ts';
import { loadServer, onServer } from '../server.ts';
import { hexId, visible } from '../text.ts';
import { reportText } from '../verify/report-text.ts';
import { vkeyArgument } from './verify.ts';

const help = `
The archive holds the logs of tenants whose plan has one, as Parquet in the object store, by month of
receipt. A service with the owner's login (DATABASE_OWNER_URL, or its embedded PostgreSQL) archives
every ARCHIVE_INTERVAL; otherwise run "indelible archive run" by cron. docs/archive.md shows how
DuckDB, Athena and ClickHouse read it.`;

interface ArchiveOptions {
  tenant?: string;
  vkey?: string[];
  json?: boolean;
  yes?: boolean;
}

export function archiveCommand(program: Command, io: Io): void {
  const archive = program
    .command('archive')
    .description("the archive of tenants' logs")
    .addHelpText('after', help);
  const add = (name: string, description: string) =>
    archive
      .command(name)
      .description(description)
      .option('--tenant <id>', 'this tenant alone', tenantIdArgument);
  add('run', 'archive the closed months of the logs that are not archived yet').action(
    (options: ArchiveOptions) => run(io, options),
  );
  add('list', 'list the parts in the archive').action(async (options: ArchiveOptions) => {
    const { tenant = null } = options;
    const parts = await onServer(io, ({ listArchive }) => listArchive(io.env, tenant));
    await answer(io, options.json, { segments: parts }, partsText(parts, tenant));
  });
  archive
    .command('forget')
    .description('archive a log from its first entry again, after you moved its archive away')
    .requiredOption('--tenant <id>', 'this tenant', tenantIdArgument)
    .action(async ({ tenant = '', json = false }: ArchiveOptions) => {
      await onServer(io, ({ forgetArchive }) => forgetArchive(io.env, tenant));
      const text = 'the next run archives this log from its first entry on\n';
      await answer(io, json, { forgotten: tenant }, text);
    });
  const addReading = (name: string, description: string) =>
    add(name, description)
      .argument('[archive]', 'a folder or an s3:// URL; else the archive of OBJECT_STORE_URL')
      .option('--vkey <key>', 'trust only this verifier key; may be repeated', vkeyArgument);
  addReading('verify', 'verify an archive from its files alone').action(
    (where: string | undefined, options: ArchiveOptions) => verify(io, where, options),
  );
  addReading('restore', 'load the tenants of an archive into an empty service')
    .option('--yes', 'do it')
    .action((where: string | undefined, options: ArchiveOptions) => restore(io, where, options));
}

async function run(io: Io, options: ArchiveOptions): Promise<void> {
  const { tenant = null, json } = options;
  const archived = await onServer(io, ({ archiveLog }) => archiveLog(io.env, tenant));
  if (archived === null)
    throw new FindingError('another process is archiving; retry when it has finished');
  if (tenant !== null && archived.length === 0) {
    throw new FindingError(
      `tenant ${tenant} has no archive: its plan has none, it was offboarded, or ` +
        'it does not exist',
    );
  }
  const isFine = archived.every(
    ({ problem, parts }) => problem === null && parts.every((one) => one.contradicted === 0),
  );
  io.exitCode = isFine ? exitCodes.fine : exitCodes.finding;
  await answer(io, json, { tenants: archived.map(asJson) }, archivedText(archived));
}

const asJson = ({ parts, ...rest }: TenantArchive) => ({ ...rest, segments: parts });

async function verify(
  io: Io,
  where: string | undefined,
  { tenant, vkey = [], json = false }: ArchiveOptions,
): Promise<void> {
  const location = where ?? (await ownArchive(io));
  const options = { tenantId: tenant ?? null, vkeys: vkey, plans: plansOf(io.env) };
  const report = await withProgress(io, (progress) =>
    verifyArchive(location, { ...options, progress }),
  );
  io.exitCode = report.result === 'intact' ? exitCodes.fine : exitCodes.finding;
  await answer(io, json, report, reportText(report));
}

async function restore(
  io: Io,
  where: string | undefined,
  { tenant, vkey = [], json = false, yes = false }: ArchiveOptions,
): Promise<void> {
  if (!yes) {
    throw new UsageError(
      'this loads the tenants of an archive into an empty service, under new log names; ' +
        'stop the service, then run it with --yes',
    );
  }
  const location = where ?? (await ownArchive(io));
  const options = { tenantId: tenant ?? null, vkeys: vkey };
  const restored = await onServer(io, ({ restoreArchive }) =>
    restoreArchive(io.env, location, options),
  );
  await answer(io, json, restored, restoredText(restored));
}

/** Location of the service's own archive. */
async function ownArchive(io: Io): Promise<string> {
  const { readConfig } = await loadServer(io.env);
  const url = new URL(readConfig(io.env).objectStoreUrl);
  url.pathname = `${url.pathname.replace(/\/$/, '')}/archive`;
  return url.href;
}

function archivedText(tenants: readonly TenantArchive[]): string {
  if (tenants.length === 0) return 'no tenant has a plan with an archive\n';
  return tenants.map(tenantText).join('');
}

function tenantText({ tenantId, parts, size, problem }: TenantArchive): string {
  const added = parts.length === 0 ? 'nothing new' : `${counted(parts.length, 'part')} added`;
  const lines = [
    `tenant ${tenantId}: ${added}; ${counted(size, 'entry is', 'entries are')} archived\n`,
  ];
  for (const { first, last, events, bytes, contradicted } of parts) {
    const each = events === 0 ? '' : `, ${withCommas(Math.round(bytes / events))} bytes an event`;
    lines.push(
      `  ${first} to ${last}: ${counted(events, 'event')}, ${counted(bytes, 'byte')}${each}\n`,
    );
    if (contradicted > 0) {
      lines.push(
        `  ${withCommas(contradicted)} of them do not match the log: run indelible verify\n`,
      );
    }
  }
  if (problem !== null) lines.push(`  stopped: ${visible(problem)}\n`);
  return lines.join('');
}

function partsText(parts: readonly PartRow[], tenantId: string | null): string {
  const whose = tenantId === null ? '' : ` of the tenant ${tenantId}`;
  if (parts.length === 0) return `nothing${whose} is archived\n`;
  return parts
    .map(({ stem, events, bytes, archivedAtMs }) => {
      const at = new Date(archivedAtMs).toISOString();
      return `${stem}  ${counted(events, 'event')}  ${counted(bytes, 'byte')}  ${at}\n`;
    })
    .join('');
}

function restoredText({ tenants, missing }: RestoredArchive): string {
  const lines = tenants.map(
    ({ tenantId, name, size, events, logId }) =>
      `tenant ${tenantId} (${visible(name)}): ${counted(events, 'event')} of ${counted(size, 'entry', 'entries')}; its ` +
      `log goes on as ${hexId(logId)}\n`,
  );
  for (const { previousLogId, publishedSize } of missing) {
    const published = `of ${withCommas(publishedSize)} published entries`;
    lines.push(`log ${hexId(previousLogId)}, ${published}, is not in the archive\n`);
  }
  return lines.join('');
}

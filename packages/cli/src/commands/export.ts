import { extname } from 'node:path';
import {
  type CsvColumn,
  counted,
  csvColumns,
  csvFurtherColumns,
  type WithholdableSegment,
  withholdableSegments,
} from '@indelible/protocol';
import { type Command, Option } from 'commander';
import { tenantIdArgument, wordsArgument } from '../arguments.ts';
import { type Exported, exportBundle } from '../bundle/export-bundle.ts';
import {
  type ConnectionOptions,
  connectPatiently,
  withConnection,
  withOperator,
} from '../connection.ts';
import { answer, exitCodes, type Io, UsageError } from '../io.ts';
import { withProgress } from '../progress.ts';
import { exportTable } from '../table/export-table.ts';
import {
  type CriteriaOptions,
  criteriaOf,
  filterOf,
  withCriteria,
} from '../table/filter-options.ts';
import type { TableTerms } from '../table/part-file.ts';
import { visible } from '../text.ts';

type ExportCommandOptions = ConnectionOptions &
  CriteriaOptions & {
    bundle?: string;
    output?: string;
    format?: 'csv' | 'ndjson';
    columns?: CsvColumn[];
    tenant?: string;
    withhold?: WithholdableSegment[];
  };

const help = `
A table (--output) contains the matching events that were recorded before the export, newest
first: CSV with the standard columns, or NDJSON with complete events and states, which
"indelible import" reads. The service makes the file; the command downloads it and compares its
SHA-256. Repeat the command to continue an interrupted download. The filters are --from to --q;
a leading ! excludes a value.

A bundle (--bundle) is a folder that an auditor verifies without the service: entries, hashes,
the signed checkpoint and its keys, events with their salts, and a README. It contains the events
that the latest checkpoint covers and the plan shows. It is written as <folder>.part; repeat the
command to continue an interrupted export.

--withhold leaves segments out of every event of a bundle: identity (e-mail, address, user
agent, names, external ids), change (diff and reason), context (outcome, metadata, whom an
agent acted for, and the like), state (before and after). The rest verifies.`;

export function exportCommand(program: Command, io: Io): void {
  const command = program
    .command('export')
    .description('write events as a table, or as a bundle that can be verified without the service')
    .option('--output <file>', 'the table to make; it must not exist')
    .addOption(
      new Option(
        '--format <format>',
        "of the table; default: by the ending of the file's name",
      ).choices(['csv', 'ndjson']),
    )
    .option('--columns <names>', `of a CSV: ${csvColumns[0]},${csvColumns[1]},…`, columns)
    .option('--bundle <folder>', 'the folder to make; it must not exist')
    .option('--tenant <id>', 'whose log; a bundle and a platform key need it', tenantIdArgument)
    .option(
      '--withhold <segments>',
      'identity, change, context, state: comma-separated',
      wordsArgument(withholdableSegments),
    );
  withOperator(withConnection(withCriteria(command)))
    .addHelpText('after', help)
    .action((options: ExportCommandOptions) =>
      options.bundle === undefined ? runTable(options, io) : runBundle(options, io),
    );
}

const columns = wordsArgument<CsvColumn>([...csvColumns, ...csvFurtherColumns]);

async function runTable(options: ExportCommandOptions, io: Io): Promise<void> {
  const { output } = options;
  if (!output) throw new UsageError('name a table with --output, or a --bundle');
  if (options.withhold !== undefined) throw new UsageError('--withhold is for a --bundle');
  const terms = termsOf(options, output);
  const job = await withProgress(io, (progress) =>
    exportTable(connectPatiently(options, io, progress), output, terms, progress),
  );
  const { id, rowsDone: rows, bytes, sha256 } = job;
  const text = `${visible(output)}: ${counted(rows, 'event')}, ${counted(bytes ?? 0, 'byte')}, SHA-256 ${sha256}\n`;
  await answer(io, options.json, { output, id, format: terms.format, rows, bytes, sha256 }, text);
}

function termsOf(options: ExportCommandOptions, output: string): TableTerms {
  const format = options.format ?? extname(output).slice(1);
  if (format !== 'csv' && format !== 'ndjson') {
    throw new UsageError('name the file .csv or .ndjson, or add --format csv or ndjson');
  }
  if (format === 'ndjson' && options.columns !== undefined) {
    throw new UsageError('--columns is for CSV: NDJSON has whole events');
  }
  filterOf(options); // refuses here what the service would refuse
  const { tenant = null, columns = null } = options;
  return { tenantId: tenant, format, filters: criteriaOf(options), columns };
}

async function runBundle(options: ExportCommandOptions, io: Io): Promise<void> {
  const { bundle: folder = '', tenant: tenantId, withhold = [] } = options;
  if (options.output !== undefined) throw new UsageError('choose either --output or --bundle');
  if (tenantId === undefined) throw new UsageError('a bundle needs --tenant: it holds one log');
  if (filterOf(options) !== null)
    throw new UsageError('a bundle holds a whole log: remove the filters');
  const exported = await withProgress(io, (progress) =>
    exportBundle(connectPatiently(options, io, progress), { tenantId, folder, withhold, progress }),
  );
  const isFine = exported.findings.count() === 0;
  io.exitCode = isFine ? exitCodes.fine : exitCodes.finding;
  await answer(io, options.json, jsonOf(folder, exported), textOf(folder, exported));
}

function jsonOf(bundle: string, { manifest, findings }: Exported) {
  const { tenantId, origin, size, withheld, plan, cutoff, counts } = manifest;
  const facts = { bundle, tenantId, origin, size, withheld, plan, cutoff, counts };
  return { ...facts, findings: { count: findings.count(), kept: findings.kept() } };
}

function textOf(bundle: string, { manifest, findings }: Exported): string {
  const { entries, events } = manifest.counts;
  const made = `${visible(bundle)}: ${counted(entries, 'entry', 'entries')}, ${counted(events, 'event')}\n`;
  const [first] = findings.kept();
  if (first === undefined) return `${made}verify it with: indelible verify ${visible(bundle)}\n`;
  return `${made}DAMAGED: ${visible(first.message)}\n`;
}

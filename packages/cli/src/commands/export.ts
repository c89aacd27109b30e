import { type WithholdableSegment, withholdableSegments } from '@indelible/protocol';
import { type Command, InvalidArgumentError } from 'commander';
import { type Exported, exportBundle } from '../bundle/export-bundle.ts';
import {
  type ConnectionOptions,
  connect,
  type Environment,
  tenantIdArgument,
  withConnection,
  withOperator,
} from '../connection.ts';
import { exitCodes } from '../exit-codes.ts';
import { print } from '../output.ts';
import { grouped, jsonLine, visible } from '../text.ts';
import { showProgress } from '../verify/progress.ts';

interface ExportCommandOptions extends ConnectionOptions {
  bundle: string;
  tenant: string;
  withhold: WithholdableSegment[];
}

const help = `
A bundle is a folder that an auditor verifies without the service: entries, hashes, the
signed checkpoint and its keys, events with their salts, and a README. It holds what the
latest checkpoint covers and the plan still shows. It is made as <folder>.part; an export
that was cut off is continued by the same command.

--withhold keeps parts of every event back: identity (e-mail, address, user agent,
resource name), change (diff and reason), state (before and after). The rest verifies.

Tables (CSV, NDJSON) are not exported by this command yet.`;

/** `indelible export`: a bundle of a tenant's log. */
export function exportCommand(program: Command, env: Environment): void {
  const command = program
    .command('export')
    .description('write a bundle of a log that verifies without the service')
    .requiredOption('--bundle <folder>', 'the folder to make; it must not exist')
    .requiredOption('--tenant <id>', 'whose log', tenantIdArgument)
    .option('--withhold <segments>', 'identity, change, state: comma-separated', segments, []);
  withOperator(withConnection(command))
    .addHelpText('after', help)
    .action(async (options: ExportCommandOptions) => {
      const exported = await runExport(options, env);
      await print(options.json ? jsonLine(jsonOf(options, exported)) : textOf(options, exported));
      const isFine = exported.findings.count() === 0;
      process.exitCode = isFine ? exitCodes.fine : exitCodes.finding;
    });
}

function segments(text: string): WithholdableSegment[] {
  return text.split(',').map((word) => {
    const name = withholdableSegments.find((each) => each === word.trim());
    if (name !== undefined) return name;
    throw new InvalidArgumentError(`Allowed are ${withholdableSegments.join(', ')}.`);
  });
}

async function runExport(options: ExportCommandOptions, env: Environment): Promise<Exported> {
  const progress = await showProgress(process.stderr);
  try {
    const client = connect(options, env, {
      attempts: 10,
      timeoutMs: 60_000,
      onRetry: ({ error }) => progress.note(error.message),
    });
    const { tenant: tenantId, bundle: folder, withhold } = options;
    return await exportBundle(client, { tenantId, folder, withhold, progress });
  } finally {
    progress.stop();
  }
}

function jsonOf({ bundle }: ExportCommandOptions, { manifest, findings }: Exported) {
  const { tenantId, origin, size, withheld, plan, cutoff, counts } = manifest;
  const facts = { bundle, tenantId, origin, size, withheld, plan, cutoff, counts };
  return { ...facts, findings: { count: findings.count(), kept: findings.kept() } };
}

function textOf({ bundle }: ExportCommandOptions, { manifest, findings }: Exported): string {
  const { entries, events } = manifest.counts;
  const made = `${visible(bundle)}: ${grouped(entries)} entries, ${grouped(events)} events\n`;
  const [first] = findings.kept();
  if (first === undefined) return `${made}verify it with: indelible verify ${visible(bundle)}\n`;
  return `${made}DAMAGED: ${visible(first.message)}\n`;
}

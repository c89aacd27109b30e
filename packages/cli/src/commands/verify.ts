import { existsSync, statSync } from 'node:fs';
import { IndelibleError } from '@indelible/client';
import { FormatError, isUuid, type Plan, parseVerifierKey } from '@indelible/protocol';
import { type Command, InvalidArgumentError } from 'commander';
import { isArchive } from '../archive/parts.ts';
import { verifyArchive } from '../archive/verify-archive.ts';
import { tenantIdArgument } from '../arguments.ts';
import { type BundleCheck, verifyBundle } from '../bundle/verify-bundle.ts';
import {
  type ConnectionOptions,
  connect,
  connectPatiently,
  plansOf,
  requireReachable,
  urlOf,
  withConnection,
  withOperator,
} from '../connection.ts';
import { answer, type Environment, exitCodes, type Io, UsageError } from '../io.ts';
import { withProgress } from '../progress.ts';
import { sha } from '../verify/hashing.ts';
import type { Progress } from '../verify/log-source.ts';
import type { Report } from '../verify/report.ts';
import { reportText } from '../verify/report-text.ts';
import { SeenCheckpoints, serviceAt, stateFolder } from '../verify/seen-checkpoints.ts';
import { verifyCapsuleFile } from '../verify/verify-capsule.ts';
import { exportCheck, verifyExport } from '../verify/verify-export.ts';
import { receiptCheck, verifyReceipt } from '../verify/verify-receipt.ts';
import { verifyTenant } from '../verify/verify-tenant.ts';

interface VerifyOptions extends ConnectionOptions {
  bundle?: string;
  receipt?: string;
  vkey?: string[];
  state?: string;
  plan?: Plan;
  reopened?: boolean;
}

const help = `
What is verified:
  indelible verify <tenant>                     a tenant's whole log, through the service
  indelible verify <bundle>                     a bundle, with no network
  indelible verify <archive>                    an archive: a folder, or an s3:// URL
  indelible verify <capsule.html>               an evidence capsule, with no network
  indelible verify <file.csv>                   a file that the service exported, against the
                                                SHA-256 that the log recorded of it, or with
                                                --bundle
  indelible verify --receipt <file.json>        a saved answer of a recording call, against a
                                                proof of the service, or with --bundle

The command recomputes every entry from its event and every hash from the entries, and
compares the root with the signed checkpoint. The signature depends on the key: pass one
from another source with --vkey; otherwise the key that service or bundle state is used.

A tenant's log must continue the checkpoint that this machine verified before; bundles and
archives must agree with it. Checkpoints are stored in ~/.local/state/indelible/checkpoints
(XDG_STATE_HOME, --state), by tenant.

Expired events are absent. That is fine if the log's own records show the plan in force;
otherwise it is unproven until you name the --plan. Set CATALOGUE_FILE if the service has
plans of its own.

Exit status: 0 everything matches the log, 1 damaged or not proven, 2 wrong usage,
3 the service cannot be reached.`;

export function verifyCommand(program: Command, io: Io): void {
  const command = program
    .command('verify')
    .description('verify a log, a bundle, an archive, a capsule, an exported file or a receipt')
    .argument(
      '[subject]',
      'a tenant (UUID), the folder of a bundle or archive, a capsule, or an exported file',
    )
    .option('--bundle <folder>', 'the bundle that an exported file or a receipt is compared with')
    .option('--receipt <file>', 'a saved answer of a recording call')
    .option('--vkey <key>', 'trust only this verifier key; may be repeated', vkeyArgument)
    .option('--state <folder>', 'the folder that keeps the checkpoints of earlier runs')
    .option('--plan <plan>', 'the plan you know the tenant to have')
    .option('--reopened', 'accept that the log was reopened under another name')
    .option(
      '--tenant <id>',
      'whose log, by UUID or your own id; of a file, a receipt or an archive, or alone',
      tenantIdArgument,
    );
  withOperator(withConnection(command))
    .addHelpText('after', help)
    .action(async (subject: string | undefined, options: VerifyOptions) => {
      const report = await withProgress(io, (progress) => verify(subject, options, io, progress));
      io.exitCode = report.result === 'intact' ? exitCodes.fine : exitCodes.finding;
      await answer(io, options.json, report, reportText(report));
    });
}

export function vkeyArgument(text: string, before: string[] = []): string[] {
  try {
    parseVerifierKey(sha, text);
  } catch (error) {
    if (!(error instanceof FormatError)) throw error;
    throw new InvalidArgumentError(`A verifier key is needed (name+id+key): ${error.message}.`);
  }
  return [...before, text];
}

async function verify(
  subject: string | undefined,
  options: VerifyOptions,
  io: Io,
  progress: Progress,
): Promise<Report> {
  const { bundle, receipt, vkey: vkeys = [], plan = null } = options;
  const plans = plansOf(io.env);
  if (plan !== null && !plans.named(plan)) {
    const known = plans.names.join(', ');
    throw new UsageError(`no plan is called ${plan}; CATALOGUE_FILE may name more than ${known}`);
  }
  const folder = stateFolder(options.state, io.env);
  const seenOf = (tenantId: string) => new SeenCheckpoints(folder, tenantId).load();
  if (bundle !== undefined) {
    const check = await checkOf(subject, receipt);
    return verifyBundle(bundle, { vkeys, plan, plans, progress, seenOf, ...(check && { check }) });
  }
  if (receipt !== undefined) {
    if (subject !== undefined) throw new UsageError('name either a receipt or another subject');
    return verifyReceipt(connect(options, io, { attempts: 10 }), { path: receipt, vkeys });
  }
  if (subject === undefined && options.tenant !== undefined)
    return verifyLog(options.tenant, options, io, progress);
  if (subject === undefined)
    throw new UsageError(
      'name what to verify: a tenant, bundle, archive, capsule or exported file',
    );
  if (isArchive(subject)) {
    const tenantId = options.tenant ?? null;
    return verifyArchive(subject, { tenantId, vkeys, plans, progress, seenOf });
  }
  if (isFolder(subject)) return verifyBundle(subject, { vkeys, plan, plans, progress, seenOf });
  if (/\.html?$/i.test(subject)) return verifyCapsuleFile(subject, vkeys);
  if (isUuid(subject)) return verifyLog(subject.toLowerCase(), options, io, progress);
  if (existsSync(subject)) {
    return verifyExport(connect(options, io, { attempts: 10 }), { path: subject, vkeys });
  }
  throw new UsageError(`${subject} is neither a tenant's UUID nor a file or folder that exists`);
}

async function checkOf(
  subject: string | undefined,
  receipt: string | undefined,
): Promise<BundleCheck | null> {
  if (subject !== undefined && receipt !== undefined) {
    throw new UsageError('name either an exported file or a receipt');
  }
  if (receipt !== undefined) return receiptCheck(receipt);
  return subject === undefined ? null : exportCheck(subject);
}

async function verifyLog(
  tenantId: string,
  options: VerifyOptions,
  io: Io,
  progress: Progress,
): Promise<Report> {
  if (options.reason !== undefined) {
    progress.note("this is recorded in the tenant's log: use a key of the tenant to avoid that");
  }
  const refusal = await refusalOf(options, io.env);
  const client = connectPatiently({ ...options, tenant: tenantId }, io, progress);
  return verifyTenant(client, {
    tenantId,
    vkeys: options.vkey ?? [],
    plan: options.plan ?? null,
    plans: plansOf(io.env),
    seen: new SeenCheckpoints(
      stateFolder(options.state, io.env),
      tenantId,
      serviceAt(urlOf(options, io.env)),
    ),
    reopened: options.reopened ?? false,
    refusal,
    isRecorded: options.reason !== undefined,
    progress,
  });
}

/** Why the service does not record, if it has found damage in its logs. */
async function refusalOf(options: ConnectionOptions, env: Environment): Promise<string | null> {
  try {
    await requireReachable(options, env);
    return null;
  } catch (error) {
    if (error instanceof IndelibleError && error.message.startsWith('recording is stopped')) {
      return error.message;
    }
    throw error;
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

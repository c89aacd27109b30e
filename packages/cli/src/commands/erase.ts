import { counted, eventIdFromUuid, isEmail, reasonProblem, withCommas } from '@indelible/protocol';
import type { Erased, ErasurePlan, ErasureTarget } from '@indelible/server';
import { type Command, Option } from 'commander';
import { tenantIdArgument } from '../arguments.ts';
import { answer, type Io, UsageError } from '../io.ts';
import { offboardWithBundle, showOffboarding } from '../offboarding/offboard.ts';
import { loadServer, onServer } from '../server.ts';
import { visible } from '../text.ts';

const help = `
An erasure is permanent. It removes one of these:
  --actor <id|e-mail>     the identity of a person: e-mail, address, user agent and resource name, in
                          every event with this actor
  --event <id> --segment change|context|state
                          a secret in one event: diff and reason, context, or both states
  --tenant <id> alone     all data of an offboarded tenant. First makes the bundle of its log, in
                          indelible-<id> or --bundle <folder>, unless it exists

The log still verifies: the hashes remain, and the log records who erased what, and why. Events
under legal hold and identities of operators cannot be erased. Without --yes the command only
shows what it would do.

Runs as the owner of the database: DATABASE_OWNER_URL, or the embedded PostgreSQL, also while a
service is using it. Repeat the command to continue an interrupted run.`;

interface Options {
  tenant: string;
  actor?: string;
  event?: string;
  segment?: 'change' | 'context' | 'state';
  bundle?: string;
  reason?: string;
  operatorEmail?: string;
  yes?: boolean;
  json?: boolean;
}

/** `indelible erase`: a person, a secret, or a whole tenant (offboarding). */
export function eraseCommand(program: Command, io: Io): void {
  program
    .command('erase')
    .description('erase a person, a leaked secret, or a whole tenant (offboarding)')
    .requiredOption('--tenant <id>', 'whose log', tenantIdArgument)
    .option('--actor <id|e-mail>', 'erase who this person was')
    .option('--event <id>', 'erase a part of this event')
    .addOption(
      new Option('--segment <name>', 'the part of the event').choices([
        'change',
        'context',
        'state',
      ]),
    )
    .option(
      '--bundle <folder>',
      "folder of the offboarded tenant's bundle; made if it does not exist",
    )
    .option('--reason <text>', 'why; recorded in the log')
    .option('--operator-email <address>', 'who orders the erasure; recorded in the log')
    .option('--yes', 'do it')
    .addHelpText('after', help)
    .action(async (options: Options) => {
      const target = targetOf(options);
      if (target === null) await offboard(options, io);
      else await erase(target, options, io);
    });
}

async function offboard(options: Options, io: Io): Promise<void> {
  const { tenant: tenantId, bundle = `indelible-${tenantId}`, yes = false, json = false } = options;
  const offboarding = { tenantId, folder: bundle.replace(/(?<=.)\/+$/, ''), json };
  await loadServer(io.env);
  if (yes) await offboardWithBundle(offboarding, requesterOf(options), io);
  else await showOffboarding(offboarding, io);
}

/** Null for offboarding. */
function targetOf({ tenant, actor, event, segment, bundle }: Options): ErasureTarget | null {
  const given = [actor, event, bundle].filter((each) => each !== undefined);
  if (given.length > 1) throw new UsageError('name one of --actor, --event and --bundle');
  if ((event === undefined) !== (segment === undefined)) {
    throw new UsageError('--event and --segment go together');
  }
  if (actor !== undefined) return { tenantId: tenant, actor };
  if (event === undefined || segment === undefined) return null;
  return { tenantId: tenant, eventId: event, segment };
}

async function erase(target: ErasureTarget, options: Options, io: Io): Promise<void> {
  const { yes = false, json = false } = options;
  if (yes) {
    const requester = requesterOf(options);
    const erased = await onServer(io, ({ eraseNow }) => eraseNow(io.env, target, requester));
    return answer(io, json, { done: true, ...erased }, erasedText(erased));
  }
  const plan = await onServer(io, ({ erasurePlan }) => erasurePlan(io.env, target));
  const events = plan.events.map(eventIdFromUuid);
  await answer(io, json, { done: false, ...plan, events }, planText(plan));
}

function requesterOf({ reason, operatorEmail }: Options) {
  if (!reason || !operatorEmail) {
    throw new UsageError('--yes needs --reason and --operator-email: the log records both');
  }
  const problem = reasonProblem(reason);
  if (problem !== null) throw new UsageError(`--reason ${problem}`);
  if (!isEmail(operatorEmail)) {
    throw new UsageError('--operator-email is not an e-mail address');
  }
  return { reason, operatorEmail };
}

function planText(plan: ErasurePlan): string {
  const { tenantId, segment, actors, addresses, ownIds, events, files, elsewhere, mentions } = plan;
  const { named } = plan;
  const lines = actors.map(({ id, count, asOperator }) => {
    const stays = asOperator > 0 ? `; ${withCommas(asOperator)} as an operator are kept` : '';
    return `actor ${id}: identity of ${counted(count, 'event')}${stays}`;
  });
  if (addresses.length > 0) lines.push(`addresses: ${addresses.map(visible).join(', ')}`);
  if (events.length > 0)
    lines.push(`${segment} of ${counted(events.length, 'event')} by themselves`);
  if (ownIds.length > 0) lines.push(`own ids: ${ownIds.map(visible).join(', ')}`);
  lines.push(...queryLines(named));
  for (const [what, count] of Object.entries(elsewhere ?? {})) {
    if (count > 0) lines.push(`${tableNames[what] ?? what}: ${withCommas(count)}`);
  }
  if (files > 0) lines.push(`files of exports that expire at once: ${withCommas(files)}`);
  if (plan.unfinished > 0) lines.push(`interrupted erasures that continue: ${plan.unfinished}`);
  if (mentions !== null) lines.push(...mentionLines(mentions));
  if (plan.isNotified) lines.push('kept: the tenant still gets mail at this address');
  if (plan.legalHold) lines.push('refused now: the tenant is under legal hold');
  const list = lines.map((line) => `  ${line}\n`).join('');
  return (
    `tenant ${tenantId}, would be erased:\n${list}Nothing was erased. --yes erases it ` +
    'permanently.\n'
  );
}

const queryNames: Record<string, string> = {
  searches: 'saved searches that name the person, deleted',
  views: 'views that name the person, deleted',
  alertRules: 'alert rules that name the person, deleted',
  webhooks: 'webhooks whose filters name the person, deleted',
  exports: 'exports whose filters name the person, which lose their filters',
};

function queryLines(named: ErasurePlan['named']): string[] {
  const shown = Object.entries(named ?? {}).filter(([, ids]) => ids.length > 0);
  return shown.map(([what, ids]) => `${queryNames[what] ?? what}: ${ids.join(', ')}`);
}

const tableNames: Record<string, string> = {
  searches: 'saved searches that the person made',
  views: 'views that the person made',
  restores: 'restores that name the person',
  exports: 'exports that name the person',
  webhooks: 'names of webhooks that name the person',
  deliveries: 'answers of webhook receivers that name the person',
  sessions: 'sessions',
  viewerLinks: 'links to the panel',
  formerEmails: 'former addresses of notices',
  mailRecipients: 'recipients of mail',
};

function mentionLines({ asResource, inText, newestInText }: NonNullable<ErasurePlan['mentions']>) {
  const lines: string[] = [];
  if (asResource > 0) {
    lines.push(
      `kept: ${counted(asResource, 'event')} of other actors whose resource or target is the person`,
    );
  }
  if (inText > 0) {
    lines.push(
      `kept: ${counted(inText, 'event')} with an address in diff, reason, states or context; erase ` +
        `each with --event: ${newestInText.map(eventIdFromUuid).join(', ')}${inText > newestInText.length ? ', …' : ''}`,
    );
  }
  return lines;
}

function erasedText({ tenantId, erasures, files, deleted }: Erased): string {
  const lines = erasures.map(
    ({ id, segment, events }) => `erasure ${id}: ${segment} of ${counted(events, 'event')}\n`,
  );
  const gone =
    files > 0
      ? `${counted(files, 'file of an export was', 'files of exports were')} removed\n`
      : '';
  const queries = queryLines(deleted).map((line) => `${line}\n`);
  return `tenant ${tenantId}\n${lines.join('')}${queries.join('')}${gone}`;
}

import { setTimeout as delay } from 'node:timers/promises';
import type { AuditEvent, IndelibleClient } from '@indelible/client';
import { actorText, englishActors, outcomeSaid, type Party, partyName } from '@indelible/protocol';
import { type Command, Option } from 'commander';
import { tenantIdArgument, wholeArgument } from '../arguments.ts';
import { type ConnectionOptions, connect, withConnection, withOperator } from '../connection.ts';
import { answer, type Io } from '../io.ts';
import { shortened, visible } from '../text.ts';

interface TailOptions extends ConnectionOptions {
  after?: number;
  fromStart?: boolean;
  lines: number;
  follow?: boolean;
  interval: number;
}

const linesMax = 500;

export function tailCommand(program: Command, io: Io): void {
  const command = program
    .command('tail')
    .description("a tenant's latest events, in the order they were recorded")
    .option('--tenant <id>', 'whose events; a platform key needs it', tenantIdArgument)
    .option('-n, --lines <count>', 'how many to begin with', wholeArgument(0, linesMax), 10)
    .addOption(
      new Option('--after <sequence>', 'instead: all events after this sequence')
        .argParser(wholeArgument(0))
        .conflicts('fromStart'),
    )
    .option('--from-start', 'instead: all events from sequence 0 on')
    .option('-f, --follow', 'continue with new events')
    .option('--interval <seconds>', 'how often to look, with --follow', wholeArgument(1, 3_600), 2);
  withOperator(withConnection(command)).action((options: TailOptions) => tail(options, io));
}

async function tail(options: TailOptions, io: Io): Promise<void> {
  const { follow = false, after, fromStart = false, lines, interval, json = false } = options;
  const client = connect(options, io, follow ? { attempts: 10 } : {});
  if (follow && options.reason !== undefined) {
    io.stderr.write(
      "this is recorded in the tenant's log every 15 minutes and shown here: use a key of the " +
        'tenant to avoid that\n',
    );
  }
  let last = after;
  const show = async (event: AuditEvent) => {
    await answer(io, json, event, `${eventLine(event)}\n`);
    last = event.sequence;
  };
  if (after === undefined && !fromStart)
    for (const event of await newest(client, lines)) await show(event);
  else for await (const event of following(client, last)) await show(event);
  while (follow) {
    await delay(interval * 1_000);
    for await (const event of following(client, last)) await show(event);
  }
}

/** The latest events, oldest first. */
async function newest(client: IndelibleClient, count: number): Promise<AuditEvent[]> {
  const events: AuditEvent[] = [];
  if (count === 0) return events;
  const query = { sort: 'sequence', order: 'desc', limit: count } as const;
  for await (const event of client.list(query)) {
    events.unshift(event);
    if (events.length === count) break;
  }
  return events;
}

function following(client: IndelibleClient, after: number | undefined) {
  const from = after === undefined ? {} : { afterSequence: after };
  return client.list({ sort: 'sequence', limit: linesMax, ...from });
}

const wordsMax = 60;
const valueMax = 32;

/** An event as one line: time, sequence, actor, action, resource and outcome, first change. */
export function eventLine(event: AuditEvent): string {
  const { timestamp, sequence, action, resource } = event;
  const name = resource.name === null ? resource.id : `"${words(resource.name)}"`;
  const parts = [
    timestamp,
    `#${sequence}`,
    actorText(event, englishActors, who),
    `${visible(action)} ${visible(resource.type)} ${name}`,
  ];
  const outcome = outcomeSaid(event.outcome, action);
  if (outcome !== null) parts.push(`[${outcome}]`);
  const change = firstChange(event);
  if (change !== '') parts.push(change);
  if (event.crossTenant) parts.push(reason(event));
  return parts.join('  ');
}

function who(party: Party): string {
  const name = words(partyName(party) ?? party.id ?? 'unknown');
  return party.role === undefined ? name : `${name} (${visible(party.role)})`;
}

function firstChange({ diff }: AuditEvent): string {
  const [first, ...others] = Object.entries(diff);
  if (first === undefined) return '';
  const [field, { from, to }] = first;
  const more = others.length === 0 ? '' : ` (+${others.length} more)`;
  return `${words(field)}: ${value(from)} → ${value(to)}${more}`;
}

function reason(event: AuditEvent): string {
  return event.reason === null ? '[no reason declared]' : `[reason: ${words(event.reason)}]`;
}

function value(scalar: string | number | boolean | null): string {
  return visible(shortened(JSON.stringify(scalar), valueMax));
}

function words(text: string): string {
  return visible(shortened(text, wordsMax));
}

import { existsSync, readFileSync } from 'node:fs';
import type { AlertRule, AlertRuleInput, IndelibleClient, TestedRule } from '@indelible/client';
import { counted, parseTimestamp, withCommas } from '@indelible/protocol';
import { type Command, InvalidArgumentError } from 'commander';
import { tenantIdArgument } from '../arguments.ts';
import { type ConnectionOptions, connect, withConnection, withOperator } from '../connection.ts';
import { answer, type Io, sentenceOf, UsageError } from '../io.ts';
import { showWork } from '../progress.ts';
import { visible } from '../text.ts';

const dayMs = 86_400_000;

interface SwitchOptions extends ConnectionOptions {
  recommended?: boolean;
}

interface TestOptions extends ConnectionOptions {
  since: number;
}

export function rulesCommand(program: Command, io: Io): void {
  const rules = program.command('rules').description("a tenant's alert rules");
  const add = (name: string, description: string) =>
    withOperator(
      withConnection(
        rules
          .command(name)
          .description(description)
          .option('--tenant <id>', 'whose rules; a platform key needs it', tenantIdArgument),
      ),
    );
  const which = 'id of a rule, or name of a built-in one';
  add('list', 'the rules, the built-in ones too').action((options: ConnectionOptions) =>
    listRules(options, io),
  );
  add('add', 'make a rule')
    .argument('<file>', 'a rule as JSON, as the API takes it; - reads it from the input')
    .action((file: string, options: ConnectionOptions) => addRule(file, options, io));
  for (const [name, enabled] of [
    ['on', true],
    ['off', false],
  ] as const) {
    add(name, `switch rules ${name}`)
      .argument('[rule...]', which)
      .option('--recommended', 'the built-in rules that ordinary traffic rarely sets off')
      .action((named: string[], options: SwitchOptions) =>
        switchRules(named, enabled, options, io),
      );
  }
  add('remove', 'remove a rule; its alerts stay in the log')
    .argument('<rule>', which)
    .action(async (named: string, options: ConnectionOptions) => {
      const client = connect(options, io);
      const { id, builtIn } = await found(client, named);
      await client.alerts.remove(id);
      const text = builtIn === null ? 'is removed' : 'is as it was at first';
      await answer(io, options.json, { id, removed: true }, `${visible(named)} ${text}\n`);
    });
  add('test', 'the alerts that a rule would have raised')
    .argument('<rule>', `${which}, or a file as of add`)
    .requiredOption('--since <time>', 'a time (ISO 8601), or days such as 90d', sinceArgument)
    .action((named: string, options: TestOptions) => testRule(named, options, io));
}

function sinceArgument(text: string): number {
  const [, days] = /^(\d{1,4})d$/.exec(text) ?? [];
  const ms = days === undefined ? parseTimestamp(text) : Date.now() - Number(days) * dayMs;
  if (ms !== null) return ms;
  throw new InvalidArgumentError('Days such as 90d, or a time such as 2026-01-31, are needed.');
}

async function listRules(options: ConnectionOptions, io: Io): Promise<void> {
  const { data } = await connect(options, io).alerts.rules();
  for (const rule of data) await answer(io, options.json, rule, ruleLine(rule));
}

function ruleLine({
  id,
  builtIn,
  name,
  kind,
  enabled,
  recommended,
  mutedUntil,
  dropped,
}: AlertRule): string {
  const state = enabled ? 'on ' : 'off';
  const notes = [kind, builtIn ?? [], recommended ? 'recommended' : []].flat();
  const muted = mutedUntil === null ? [] : `muted until ${mutedUntil}`;
  const more = dropped === 0 ? [] : `${withCommas(dropped)} above 60 in an hour raised no alert`;
  return `${id}  ${state}  ${visible(name)} (${[...notes, muted, more].flat().join(', ')})\n`;
}

async function addRule(file: string, options: ConnectionOptions, io: Io): Promise<void> {
  const made = await connect(options, io).alerts.create(ruleIn(file));
  await answer(io, options.json, made, ruleLine(made));
}

/** Only its form is checked here; the service checks the rule. */
function ruleIn(file: string): AlertRuleInput {
  try {
    return JSON.parse(readFileSync(file === '-' ? 0 : file, 'utf8'));
  } catch (error) {
    const problem = error instanceof SyntaxError ? 'is not a rule as JSON' : 'cannot be read';
    throw new UsageError(`${file} ${problem}: ${sentenceOf(error)}`);
  }
}

async function switchRules(
  named: readonly string[],
  enabled: boolean,
  options: SwitchOptions,
  io: Io,
): Promise<void> {
  const client = connect(options, io);
  const { data } = await client.alerts.rules();
  const wanted = named.map((each) => byName(data, each));
  if (options.recommended) wanted.push(...data.filter(({ recommended }) => recommended));
  if (wanted.length === 0) throw new UsageError('name the rules, or give --recommended');
  const changed: AlertRule[] = [];
  for (const { id } of wanted) changed.push(await client.alerts.update(id, { enabled }));
  // All are changed before the first is told: its reader may go away.
  for (const rule of changed) await answer(io, options.json, rule, ruleLine(rule));
}

const found = async (client: IndelibleClient, named: string) =>
  byName((await client.alerts.rules()).data, named);

function byName(rules: readonly AlertRule[], named: string): AlertRule {
  const rule = rules.find(({ id, builtIn }) => id === named.toLowerCase() || builtIn === named);
  if (rule) return rule;
  throw new UsageError(`there is no rule ${visible(named)}: rules list shows all`);
}

/** A test takes up to a minute, longer than other calls. */
const testTimeoutMs = 300_000;

async function testRule(named: string, options: TestOptions, io: Io): Promise<void> {
  const client = connect(options, io, { timeoutMs: testTimeoutMs });
  const isFile = existsSync(named) || named === '-';
  const rule = isFile ? ruleIn(named) : await found(client, named);
  const tested = isFile ? (rule as AlertRuleInput) : (rule as AlertRule).id;
  const since = new Date(options.since).toISOString();
  const began = performance.now();
  const counts = () => `testing for ${Math.round((performance.now() - began) / 1_000)} s`;
  // Lines, no bar: the service does not say how far it is.
  const work = { counts, done: () => 0, total: () => null };
  const progress = showWork(io.stderr, work, false);
  // In one call: a silence, and the limit of alerts in an hour, span any parts.
  const testing = client.alerts.test(tested, { since });
  const whole = await testing.finally(() => progress.stop());
  await answer(io, options.json, whole, resultText(whole));
}

const barWidth = 40;
const alertsShown = 20;

function resultText({ alerts, perDay, total, dropped, matched }: TestedRule): string {
  const most = Math.max(1, ...perDay.map((each) => each.alerts));
  const days = perDay
    .filter((each) => each.alerts > 0)
    .map((each) => {
      const bar = '█'.repeat(Math.ceil((each.alerts / most) * barWidth));
      return `${each.day}  ${bar} ${withCommas(each.alerts)}\n`;
    });
  const last = alerts.slice(-alertsShown).map(({ at, group, count, events }) => {
    const of = Object.entries(group).map(([name, value]) => `${name} ${visible(value)}`);
    return `${at}  ${[...of, counted(count, 'event'), events.at(-1)?.id ?? []].flat().join(', ')}\n`;
  });
  const more = dropped === 0 ? '' : `, ${withCommas(dropped)} more above 60 in an hour`;
  const perDayText = (total / Math.max(1, perDay.length)).toFixed(2);
  const summary =
    `${counted(total, 'alert')} in ${counted(perDay.length, 'day')}, ${perDayText} a day${more}; ` +
    `${counted(matched, 'event matches', 'events match')}\n`;
  const heading = last.length === 0 ? '' : '\nthe last alerts:\n';
  return `${days.join('')}${summary}${heading}${last.join('')}`;
}

import { IndelibleError, UnreachableError } from '@indelible/client';
import type { Command } from 'commander';
import { type ConnectionOptions, urlOf } from './connection.ts';
import { type Environment, FindingError, UsageError } from './io.ts';
import { plainReasons, visible } from './text.ts';

/**
 * What a command says about the error that ended it: one sentence, without the stack unless the
 * error is a defect. `command` is the one that ran, if it got that far.
 */
export function failureText(error: unknown, command: Command | null, env: Environment): string {
  if (error instanceof IndelibleError) return refusalText(error, command, env);
  if (!(error instanceof Error)) return visible(String(error));
  const expected = [UsageError, FindingError, UnreachableError].some(
    (kind) => error instanceof kind,
  );
  // Of the system, such as a full disk: the message says all, and the stack is of no use.
  const isSystem = 'syscall' in error;
  return visible(plainReasons(error.message)) + (expected || isSystem ? '' : `\n${error.stack}`);
}

function refusalText(error: IndelibleError, command: Command | null, env: Environment): string {
  const { message, code, requestId } = error;
  const request = requestId === null ? '' : `, request ${requestId}`;
  const hint = code === 'not_found' && command !== null ? `: check ${looked(command, env)}` : '';
  return `${visible(inOptions(message))}${hint} (${code}${request})`;
}

/** What the command asked for, by ids, and where. */
function looked(command: Command, env: Environment): string {
  const options = command.opts<ConnectionOptions>();
  const ids = command.args.filter((_, at) => command.registeredArguments[at]?.name() === 'id');
  if (options.tenant !== undefined) ids.push(`--tenant ${options.tenant}`);
  return [...ids.map(visible), `the address ${urlOf(options, env)}`].join(', ');
}

/** The service asks for headers, which a command has as options. */
const headers: readonly (readonly [string, string])[] = [
  ['the header X-Access-Reason is missing', 'say why with --reason, which the tenant sees'],
  ['the header X-Access-Reason', '--reason'],
  ['the header X-Operator-Email', '--operator-email'],
  ['name the tenant in the header X-Tenant-Id', 'name the tenant with --tenant'],
  [
    'no valid credential was sent: send the header `Authorization: Bearer` with',
    'the key is not valid: give, with --key or INDELIBLE_API_KEY,',
  ],
];

function inOptions(message: string): string {
  return headers.reduce((text, [header, option]) => text.replace(header, option), message);
}

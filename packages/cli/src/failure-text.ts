import { IndelibleError, UnreachableError } from '@indelible/client';
import { type ErrorCode, problemsText, reasonProblem } from '@indelible/protocol';
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
  // The message of a system error, such as a full disk, says all; the stack is of no use.
  const isSystem = 'syscall' in error;
  return visible(plainReasons(error.message)) + (expected || isSystem ? '' : `\n${error.stack}`);
}

function refusalText(error: IndelibleError, command: Command | null, env: Environment): string {
  const { message, code, requestId, errors } = error;
  const request = requestId === null ? '' : `, request ${requestId}`;
  const own = command && (sentences[code]?.(command, message, env) ?? ofFields(errors, command));
  return `${visible(own ?? message)} (${code}${request})`;
}

/** Refusals that the service explains with headers and addresses, which a command does not have. */
const sentences: Partial<
  Record<ErrorCode | 'unexpected_answer', (...of: [Command, string, Environment]) => string | null>
> = {
  not_found: (command, message, env) => `${message}: check ${looked(command, env)}`,
  unauthenticated: () =>
    'the key is not valid: give, with --key or INDELIBLE_API_KEY, a complete API key or token that ' +
    'is neither revoked nor expired',
  reason_required(command) {
    const { reason } = command.opts<ConnectionOptions>();
    if (nameIn(command, 'reason') === null) return null;
    if (reason === undefined) return 'say why with --reason, which the tenant sees';
    const problem = reasonProblem(reason);
    return problem && `--reason ${problem}`;
  },
};

/** The ids that the command asked for, and the service that it asked. */
function looked(command: Command, env: Environment): string {
  const options = command.opts<ConnectionOptions>();
  const ids = command.args.filter((_, at) => command.registeredArguments[at]?.name() === 'id');
  if (options.tenant !== undefined) ids.push(`--tenant ${options.tenant}`);
  return [...ids, `the address ${urlOf(options, env)}`].join(', ');
}

/** Null if the command has none of the fields: the service's sentence is about something else. */
function ofFields(errors: IndelibleError['errors'], command: Command): string | null {
  // Another program may answer with anything.
  const known = errors.filter((each) => typeof each?.path === 'string');
  if (known.every(({ path }) => nameIn(command, path) === null)) return null;
  return problemsText(
    known.map((each) => ({ ...each, path: nameIn(command, each.path) ?? each.path })),
  );
}

/** Headers and fields that a command has under another name. */
const otherNames: Readonly<Record<string, string>> = {
  'X-Tenant-Id': 'tenant',
  'X-Operator-Email': 'operatorEmail',
  scopes: 'scope',
  expiresAt: 'expires',
  allowedIps: 'allowedIp',
};

/** The option or argument of a field of the API, by its pointer or name; null if there is none. */
function nameIn(command: Command, path: string): string | null {
  const [field = ''] = path.replace(/^\/(filters\/)?/, '').split('/');
  const name = otherNames[field] ?? field;
  const option = command.options.find((each) => each.attributeName() === name);
  const argument = command.registeredArguments.find((each) => each.name() === name);
  return option?.long ?? (argument ? `<${name}>` : null);
}

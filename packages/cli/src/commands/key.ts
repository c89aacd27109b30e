import type { ApiKey, NewApiKey } from '@indelible/client';
import { parseTimestamp, type Scope } from '@indelible/protocol';
import { type Command, InvalidArgumentError } from 'commander';
import { tenantIdArgument } from '../arguments.ts';
import { type ConnectionOptions, connect, withConnection, withOperator } from '../connection.ts';
import { answer, type Io, UsageError } from '../io.ts';
import { aligned, visible } from '../text.ts';

interface OwnerOptions extends ConnectionOptions {
  platform?: boolean;
}

interface CreateOptions extends OwnerOptions {
  name: string;
  /** Checked by the service. */
  scope: Scope[];
  expires?: string;
  allowedIp?: string[];
}

export function keyCommand(program: Command, io: Io): void {
  const key = program.command('key').description('make and revoke API keys');
  const create = key
    .command('create')
    .description('make an API key; it is shown only once')
    .requiredOption('--name <name>', 'what the key is for')
    .requiredOption('--scope <scopes...>', 'such as events:write events:read')
    .option('--expires <time>', 'when it expires (ISO 8601)', timeArgument)
    .option('--allowed-ip <networks...>', 'where it may be used from, such as 192.0.2.0/24');
  withOperator(withOwner(create)).action((options: CreateOptions) => createKey(options, io));
  const list = key.command('list').description('keys, oldest first, revoked ones too');
  withOwner(list).action((options: OwnerOptions) => listKeys(options, io));
  const revoke = key
    .command('revoke')
    .description('revoke a key permanently')
    .argument('<id>', 'its UUID');
  withOperator(withOwner(revoke)).action((id: string, options: OwnerOptions) =>
    revokeKey(id, options, io),
  );
}

function withOwner(command: Command): Command {
  command
    .option('--tenant <id>', 'of this tenant', tenantIdArgument)
    .option('--platform', 'of the platform');
  return withConnection(command);
}

function timeArgument(text: string): string {
  if (parseTimestamp(text) !== null) return text;
  throw new InvalidArgumentError('A time is needed, such as 2026-01-31 or 2026-01-31T12:00:00Z.');
}

/** The tenant of the keys; null for the platform's. */
function ownerOf({ tenant, platform = false }: OwnerOptions): string | null {
  if ((tenant !== undefined) === platform) {
    throw new UsageError('choose either --tenant <id> or --platform');
  }
  return tenant ?? null;
}

async function createKey(options: CreateOptions, io: Io) {
  const owner = ownerOf(options);
  const { name, scope: scopes, expires, allowedIp: allowedIps } = options;
  const input = {
    name,
    scopes,
    ...(expires === undefined ? {} : { expiresAt: expires }),
    ...(allowedIps === undefined ? {} : { allowedIps }),
  };
  const made = await connect(options, io).apiKeys.create(owner, input);
  await answer(io, options.json, made, newKeyText(made));
}

function newKeyText({ id, name, scopes, expiresAt, key }: NewApiKey): string {
  const expires = expiresAt ?? 'never';
  const rows = { id, name: visible(name), scopes: scopes.join(', '), expires, key };
  return (
    `${aligned(Object.entries(rows))}The key is shown only once: the service stores only ` +
    'its hash.\n'
  );
}

async function listKeys(options: OwnerOptions, io: Io) {
  const owner = ownerOf(options);
  for await (const key of connect(options, io).apiKeys.list(owner)) {
    await answer(io, options.json, key, keyLine(key));
  }
}

function keyLine({ id, name, scopes, createdAt, expiresAt, revokedAt, madeBy, ...key }: ApiKey) {
  const expiry = expiresAt === null ? '' : `, expires ${expiresAt}`;
  const maker = madeBy === null ? '' : ` by the ${madeBy.kind}`;
  const state =
    revokedAt === null
      ? `made ${createdAt}${maker}, used ${key.lastUsedAt ?? 'never'}${expiry}`
      : `revoked ${revokedAt}`;
  return `${id}  ${visible(name)}  ${scopes.join(',')}  ${state}\n`;
}

async function revokeKey(id: string, options: OwnerOptions, io: Io) {
  await connect(options, io).apiKeys.revoke(ownerOf(options), id);
  await answer(io, options.json, { id, revoked: true }, `${visible(id)} is revoked\n`);
}

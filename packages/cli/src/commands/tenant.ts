import { randomUUID } from 'node:crypto';
import type { Tenant } from '@indelible/client';
import type { Locale, Plan } from '@indelible/protocol';
import type { Command } from 'commander';
import { newTenantArgument, tenantIdArgument } from '../arguments.ts';
import {
  type ConnectionOptions,
  connect,
  nullWhenMissing,
  withConnection,
  withOperator,
} from '../connection.ts';
import { answer, type Io, UsageError } from '../io.ts';
import { aligned, visible } from '../text.ts';

interface CreateOptions extends ConnectionOptions {
  id?: string;
  plan: Plan;
  locale?: Locale;
  timeZone?: string;
}

export function tenantCommand(program: Command, io: Io): void {
  const tenant = program.command('tenant').description('create tenants and choose their plans');
  const create = tenant
    .command('create')
    .description('create a tenant')
    .argument('<name>', 'what people call it')
    .option('--id <id>', 'its id in the host product; a random UUID by default', newTenantArgument)
    .requiredOption('--plan <plan>', 'how long its events are kept: a plan of the service')
    .option('--locale <locale>', 'language of mail and panel')
    .option('--time-zone <zone>', 'in which times are shown, such as Europe/Madrid');
  withConnection(create).action((name: string, options: CreateOptions) =>
    createTenant(name, options, io),
  );
  const list = tenant.command('list').description('every tenant, by id');
  withConnection(list).action((options: ConnectionOptions) => listTenants(options, io));
  const setPlan = tenant
    .command('set-plan')
    .description('change the plan; a smaller one needs --reason')
    .argument('<id>', 'the tenant', tenantIdArgument)
    .argument('<plan>', 'a plan of the service');
  withOperator(withConnection(setPlan)).action(
    (id: string, plan: Plan, options: ConnectionOptions) => setTenantPlan(id, plan, options, io),
  );
  const abandon = tenant
    .command('abandon')
    .description('close the log of a tenant that only a failed import has filled; needs --reason')
    .argument('<id>', 'the tenant', tenantIdArgument);
  withOperator(withConnection(abandon)).action((id: string, options: ConnectionOptions) =>
    abandonTenant(id, options, io),
  );
}

async function abandonTenant(id: string, options: ConnectionOptions, io: Io) {
  if (!options.reason)
    throw new UsageError('abandoning a tenant needs --reason: its log records it');
  await show(await connect(options, io).tenants.abandon(id), options, io);
}

async function createTenant(name: string, options: CreateOptions, io: Io) {
  const { id = randomUUID(), plan, locale, timeZone } = options;
  const client = connect(options, io);
  // PUT would change an existing tenant.
  const known = await client.tenants.get(id).catch(nullWhenMissing);
  if (known !== null) {
    const { name: present, plan: chosen } = known;
    throw new UsageError(`the tenant ${id} exists: ${visible(present)}, ${chosen}`);
  }
  const tenant = await client.tenants.put(id, {
    name,
    plan,
    ...(locale === undefined ? {} : { locale }),
    ...(timeZone === undefined ? {} : { timeZone }),
  });
  await show(tenant, options, io);
}

async function listTenants(options: ConnectionOptions, io: Io) {
  for await (const tenant of connect(options, io).tenants.list()) {
    const { id, externalId, plan, name, legalHold, closedAt } = tenant;
    const own = externalId === null ? '' : `  (${visible(externalId)})`;
    const held = legalHold ? '  (legal hold)' : '';
    const closed = closedAt ? `  (closed ${closedAt})` : '';
    const line = `${id}  ${plan.padEnd(10)}  ${visible(name)}${own}${held}${closed}\n`;
    await answer(io, options.json, tenant, line);
  }
}

async function setTenantPlan(id: string, plan: Plan, options: ConnectionOptions, io: Io) {
  const client = connect(options, io);
  // PUT would create a tenant with the misspelt id; this call answers "not found".
  await client.tenants.get(id);
  await show(await client.tenants.put(id, { plan }), options, io);
}

async function show(tenant: Tenant, { json }: ConnectionOptions, io: Io): Promise<void> {
  const { id, externalId, name, plan, locale, timeZone } = tenant;
  const own = externalId === null ? {} : { 'own id': visible(externalId) };
  const said = { name: visible(name), plan, locale, 'time zone': timeZone };
  const rows = Object.entries({ id, ...own, ...said });
  await answer(io, json, tenant, aligned(rows));
}

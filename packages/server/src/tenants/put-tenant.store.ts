import type { Sealer } from '../crypto/sealed.ts';
import { AppError, invalid } from '../http/problem.ts';
import { refusalOf } from '../outbound/outbound.ts';
import { newSecret } from '../outbound/standard-webhooks.ts';
import type { OwnEvent, Who } from '../own-event.ts';
import type { Parts } from '../parts.ts';
import type { WriterTx } from '../postgres/db.ts';
import {
  formerEmails,
  insertTenant,
  keepFormerEmails,
  lockTenant,
  setRestoreSecret,
  type TenantRow,
  updateTenant,
} from './store.ts';
import {
  changedSettings,
  graceEnd,
  hasOtherEmails,
  retentionClassOf,
  sameSettings,
  settingsOf,
  type TenantSettings,
  weakensRetention,
} from './tenant-settings.ts';
import { sendTermsNotice } from './terms-mail.job.ts';

export interface PutTenantParts extends Parts {
  /** Plain http and addresses that are not public may be called. */
  allowPrivate: boolean;
  /** Creates the tenant's log, or moves its new events to another retention class. */
  openLog: (tx: WriterTx, tenantId: string, retentionClass: number) => Promise<void>;
}

interface PutTenant {
  /** Lower-case UUID. */
  id: string;
  /** The own id by which the caller names it; null for a UUID. */
  externalId: string | null;
  change: Partial<TenantSettings>;
  /** The reason is required to lift a hold and to downgrade, and recorded whenever it is given. */
  who: Who;
}

export interface WrittenTenant {
  created: boolean;
  tenant: TenantRow;
  /** Only if the restore URL was set or changed; never readable again. */
  restoreSecret: string | null;
}

/** The context of an encrypted restore secret: its row. */
export const restoreSecretContext = (tenantId: string) => `tenant-restore-secret:${tenantId}`;

/**
 * Creates or changes a tenant and records it in the tenant's log, in `tx`: locks the tenant's row
 * before its log's head, as everywhere. Does not record a call that changes nothing. Throws
 * `validation_failed` (a new tenant without name or plan) and `reason_required`.
 */
export async function putTenant(
  tx: WriterTx,
  parts: PutTenantParts,
  put: PutTenant,
): Promise<WrittenTenant> {
  requireCallable(parts, put.change.restoreUrl ?? null);
  const existing = await lockTenant(tx, put.id);
  if (existing !== null) return changeTenant(tx, parts, put, existing);
  const nowMs = parts.now();
  const settings = changedSettings(null, put.change);
  const { id, externalId } = put;
  const tenant = { id, externalId, ...settings, createdAtMs: nowMs, updatedAtMs: nowMs };
  // Another transaction created it meanwhile: this is now a change.
  if (!(await insertTenant(tx, tenant))) return putTenant(tx, parts, put);
  const restoreSecret = await renewRestoreSecret(tx, parts.sealer, null, tenant);
  await parts.openLog(tx, tenant.id, retentionClassOf(parts.plans, tenant));
  await parts.recordOwn(tx, tenant.id, tenantEvent('create', put, null, tenant));
  return { created: true, tenant, restoreSecret };
}

/** Throws `validation_failed` for an address that no restore could ever call. */
function requireCallable({ allowPrivate }: PutTenantParts, restoreUrl: string | null): void {
  const refusal = restoreUrl && refusalOf(restoreUrl, allowPrivate);
  if (!refusal) return;
  const message = `cannot be called: ${refusal}`;
  throw invalid([{ path: '/restoreUrl', code: 'invalid_value', message }], `restoreUrl ${message}`);
}

async function changeTenant(
  tx: WriterTx,
  parts: PutTenantParts,
  put: PutTenant,
  before: TenantRow,
): Promise<WrittenTenant> {
  const settings = changedSettings(settingsOf(before), put.change);
  const externalId = before.externalId ?? put.externalId;
  if (externalId === before.externalId && sameSettings(settings, before))
    return { created: false, tenant: before, restoreSecret: null };
  if (put.who.reason === null && weakensRetention(parts.plans, before, settings)) {
    const sentence =
      'lifting a legal hold or choosing a smaller plan needs the header X-Access-Reason';
    throw new AppError('reason_required', sentence);
  }
  const tenant = { ...before, externalId, ...settings, updatedAtMs: parts.now() };
  await updateTenant(tx, tenant);
  const restoreSecret = await renewRestoreSecret(tx, parts.sealer, before.restoreUrl, tenant);
  if (weakensRetention(parts.plans, before, settings) || hasOtherEmails(before, tenant))
    await tell(tx, parts, put, before, tenant);
  await parts.openLog(tx, tenant.id, retentionClassOf(parts.plans, tenant));
  await parts.recordOwn(tx, tenant.id, tenantEvent('update', put, before, tenant));
  return { created: false, tenant, restoreSecret };
}

/** Removing an address, now or earlier, does not prevent its notice. */
async function tell(
  tx: WriterTx,
  parts: PutTenantParts,
  { who }: PutTenant,
  before: TenantRow,
  after: TenantRow,
): Promise<void> {
  const { id: tenantId, updatedAtMs: atMs } = after;
  const former = await formerEmails(tx, tenantId, atMs);
  const termsOf = ({ plan, legalHold, notifyEmails }: TenantRow) => {
    return { plan, legalHold, notifyEmails };
  };
  await sendTermsNotice(parts, tx, {
    tenantId,
    atMs,
    keptUntilMs: graceEnd(atMs),
    by: who.actor.email,
    reason: who.reason,
    to: [...new Set([...before.notifyEmails, ...after.notifyEmails, ...former])],
    before: termsOf(before),
    after: termsOf(after),
  });
  const takenAway = before.notifyEmails.filter((email) => !after.notifyEmails.includes(email));
  await keepFormerEmails(tx, tenantId, takenAway, graceEnd(atMs));
}

/** A new URL gets a new secret, so that the old receiver's secret is not valid for it. */
async function renewRestoreSecret(
  tx: WriterTx,
  sealer: Sealer,
  formerUrl: string | null,
  { id, restoreUrl }: TenantRow,
): Promise<string | null> {
  if (restoreUrl === formerUrl) return null;
  const secret = restoreUrl === null ? null : newSecret();
  const sealed = secret === null ? null : sealer.seal(restoreSecretContext(id), secret);
  await setRestoreSecret(tx, id, sealed);
  return secret;
}

function tenantEvent(
  action: 'create' | 'update',
  { who }: PutTenant,
  before: TenantRow | null,
  after: TenantRow,
): OwnEvent {
  const resource = { type: 'tenant', id: after.id, name: after.name };
  // A new tenant has no data to read or weaken: its creation is not an operator's access.
  const actor = before === null ? { ...who.actor, role: 'api_key' } : who.actor;
  const states = { ...(before && { before: stateOf(before) }), after: stateOf(after) };
  return { actor, action, resource, ...states, reason: who.reason };
}

/** The state of a tenant in its records. */
export function stateOf(tenant: TenantRow) {
  const { externalId } = tenant;
  return { ...settingsOf(tenant), ...(externalId === null ? {} : { externalId }) };
}

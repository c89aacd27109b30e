export type { PartitionUnit, StoredPlan } from './plan-changes.ts';
export {
  holdPlans,
  keepsOf,
  readPlans,
  requirePlans,
  shownFrom,
  storePlans,
} from './plans.store.ts';
export { restoreSecretContext } from './put-tenant.store.ts';
export { getTenant, listTenants, lockTenant, type TenantRow, tenantExists } from './store.ts';

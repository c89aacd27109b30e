export { restoreSecretContext } from './put-tenant.store.ts';
export { getTenant, listTenants, type TenantRow, tenantExists } from './store.ts';

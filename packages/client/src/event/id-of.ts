import { externalUuid, isOwnId, tenantUuid } from '@indelible/protocol';

/**
 * The UUIDs by which the service knows what your product names by ids of its own, such as `org_123`
 * and `user_123`. A UUID is itself. Throws TypeError for what the service would refuse.
 */
export const idOf = {
  /** The UUID of a tenant. */
  tenant(id: string): string {
    const uuid = tenantUuid(id);
    if (uuid === null) throw noId(id);
    return uuid;
  },
  /** The UUID of a person or program in the log of a tenant, which either of its ids names. */
  actor: (tenantId: string, id: string): string => derived(tenantId, 'actor', id),
  /** The UUID of a resource of this type in the log of a tenant. */
  resource: (tenantId: string, type: string, id: string): string => derived(tenantId, type, id),
};

function derived(tenantId: string, type: string, id: string): string {
  if (!isOwnId(id)) throw noId(id);
  return externalUuid(idOf.tenant(tenantId), type, id);
}

const noId = (id: string) =>
  new TypeError(
    `${JSON.stringify(id.slice(0, 40))} is no id: a UUID, or up to 200 visible characters`,
  );

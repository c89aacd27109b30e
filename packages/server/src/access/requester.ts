import { type Agent, agentsIn } from '@indelible/protocol';
import type { Whence, Who } from '../own-event.ts';
import type { TenantAccess } from './tenant-access.ts';

/** Who requested work, as its row stores them for the record of the outcome. */
export interface Requester {
  tenantId: string;
  requestedById: string;
  requestedByEmail: string | null;
  requestedByRole: string;
  /** Those that acted with the requester's token, nearest first. */
  agents: readonly Agent[];
  /** An operator's declared reason. */
  accessReason: string | null;
}

export function requesterOf({ tenantId, actor, reason }: TenantAccess): Requester {
  return {
    tenantId,
    requestedById: actor.id,
    requestedByEmail: actor.email,
    requestedByRole: actor.role,
    agents: agentsIn(tenantId, actor.agents ?? []),
    accessReason: reason,
  };
}

/** As they were then; a worker's records have no address. */
export function whoRequested(
  requester: Requester,
  whence: Whence = { ip: null, userAgent: null },
): Who {
  const { requestedById: id, requestedByEmail: email, requestedByRole: role, agents } = requester;
  return { actor: { id, email, role, agents, ...whence }, reason: requester.accessReason };
}

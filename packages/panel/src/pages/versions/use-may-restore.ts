import type { AuditEvent } from '@indelible/client';
import { useMay, useSession } from '../../session/session-context.tsx';

/**
 * Whether the reader can have a state of this event restored: the tenant's application takes such
 * requests, and recorded the state itself. It cannot restore what the service records of its own.
 */
export function useMayRestore(): (event: AuditEvent) => boolean {
  const { tenant } = useSession();
  const may = useMay('restore:write');
  return ({ recordedBy }) => may && tenant.restoreUrl && recordedBy.kind === 'api_key';
}

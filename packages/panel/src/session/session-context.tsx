import type { AuditEvent, Scope } from '@indelible/client';
import { createContext, useContext } from 'react';
import type { Session } from '../api.ts';

const SessionContext = createContext<Session | null>(null);

export const SessionProvider = SessionContext.Provider;

/** The signed-in reader and tenant. Only below SignInGate. */
export function useSession(): Session {
  const session = useContext(SessionContext);
  if (session === null) throw new Error('there is no session here');
  return session;
}

export function useMay(scope: Scope): boolean {
  return useSession().scopes.includes(scope);
}

/**
 * Whether the reader can have a state of this event restored: the tenant's application takes such
 * requests, and recorded the state itself. It cannot restore what the service records of its own.
 */
export function useMayRestore(): (event: AuditEvent) => boolean {
  const { tenant } = useSession();
  const may = useMay('restore:write');
  return ({ recordedBy }) => may && tenant.restoreUrl && recordedBy.kind === 'api_key';
}

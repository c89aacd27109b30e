import type { Scope } from '@indelible/client';
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

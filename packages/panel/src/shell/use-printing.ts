import { useQueryClient } from '@tanstack/react-query';
import { useCallback } from 'react';
import { checkpointQuery } from '../proof/checkpoint-query.ts';
import { useSession } from '../session/session-context.tsx';

/**
 * Prints after the page has loaded the checkpoint. Requests it only for that, because the log
 * records that an operator looked at it.
 */
export function usePrint(): () => void {
  const queries = useQueryClient();
  const { tenant } = useSession();
  return useCallback(() => {
    // React shows the answer in a task that is queued before this one.
    const shown = () => setTimeout(() => window.print());
    queries.fetchQuery(checkpointQuery(tenant.id)).then(shown, shown);
  }, [queries, tenant.id]);
}

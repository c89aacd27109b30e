import { useQueryClient } from '@tanstack/react-query';
import { useCallback, useEffect } from 'react';
import { checkpointQuery } from '../proof/use-checkpoint.ts';

/**
 * Prints after the page has loaded the checkpoint. Requests it only for that, because the log
 * records that an operator looked at it.
 */
export function usePrint(): () => void {
  const queries = useQueryClient();
  return useCallback(() => {
    // React shows the answer in a task that is queued before this one.
    const shown = () => setTimeout(() => window.print());
    queries.fetchQuery(checkpointQuery).then(shown, shown);
  }, [queries]);
}

/**
 * The browser's print menu does not wait: the page prints a checkpoint loaded before, or says that
 * it is missing.
 */
export function useCheckpointBeforePrint(): void {
  const queries = useQueryClient();
  useEffect(() => {
    const fetch = () => void queries.prefetchQuery(checkpointQuery);
    window.addEventListener('beforeprint', fetch);
    return () => window.removeEventListener('beforeprint', fetch);
  }, [queries]);
}

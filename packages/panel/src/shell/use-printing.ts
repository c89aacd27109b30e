import { useQueryClient } from '@tanstack/react-query';
import { useCallback, useEffect } from 'react';
import { checkpointQuery } from '../proof/use-checkpoint.ts';

/**
 * Prints once the page can name the state of the log it belongs to. The checkpoint is fetched for
 * that alone: it is a read like any other, which an operator's visit puts on record.
 */
export function usePrint(): () => void {
  const queries = useQueryClient();
  return useCallback(() => {
    // The page hears of the answer in a task of its
    // own, queued before this one: by then it is shown.
    const shown = () => setTimeout(() => window.print());
    queries.fetchQuery(checkpointQuery).then(shown, shown);
  }, [queries]);
}

/**
 * The browser's own menu does not wait for anything: what it prints has the checkpoint if that was
 * at hand, and otherwise says that the next print will.
 */
export function useCheckpointBeforePrint(): void {
  const queries = useQueryClient();
  useEffect(() => {
    const fetch = () => void queries.prefetchQuery(checkpointQuery);
    window.addEventListener('beforeprint', fetch);
    return () => window.removeEventListener('beforeprint', fetch);
  }, [queries]);
}

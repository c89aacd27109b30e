import { queryOptions, useQuery } from '@tanstack/react-query';

/** The verifier is loaded with it: most visits need neither. */
export const checkpointQuery = queryOptions({
  queryKey: ['checkpoint'],
  queryFn: async () => (await import('./check-checkpoint.ts')).checkpointNow(),
  staleTime: 60_000,
});

export function useCheckpoint() {
  return useQuery(checkpointQuery);
}

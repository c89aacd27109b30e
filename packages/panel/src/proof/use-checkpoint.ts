import { queryOptions, useQuery } from '@tanstack/react-query';

/** What checks it is fetched with it: most visits never need either. */
export const checkpointQuery = queryOptions({
  queryKey: ['checkpoint'],
  queryFn: async () => (await import('./check-checkpoint.ts')).checkpointNow(),
  staleTime: 60_000,
});

export function useCheckpoint() {
  return useQuery(checkpointQuery);
}

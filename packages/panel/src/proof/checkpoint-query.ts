import { queryOptions } from '@tanstack/react-query';

/** Loads the verifier too: most visits need neither. */
export const checkpointQuery = queryOptions({
  queryKey: ['checkpoint'],
  queryFn: async () => (await import('./check-checkpoint.ts')).checkpointNow(),
  staleTime: 60_000,
});

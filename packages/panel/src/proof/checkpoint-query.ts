import { queryOptions } from '@tanstack/react-query';

/** Loads the verifier too: most visits need neither. */
export const checkpointQuery = (tenantId: string) =>
  queryOptions({
    queryKey: ['checkpoint', tenantId],
    queryFn: async () => (await import('./check-checkpoint.ts')).checkpointNow(tenantId),
    staleTime: 60_000,
  });

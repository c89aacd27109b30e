import { queryOptions } from '@tanstack/react-query';
import type { Session } from '../api.ts';

/** Loads the verifier too: most visits need neither. */
export const checkpointQuery = queryOptions({
  queryKey: ['checkpoint'],
  queryFn: async ({ client }) => {
    const { checkpointNow } = await import('./check-checkpoint.ts');
    return checkpointNow(client.getQueryData<Session>(['session'])?.tenant.id ?? '');
  },
  staleTime: 60_000,
});

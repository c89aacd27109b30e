import type { AuditEvent } from '@indelible/client';
import { useQuery } from '@tanstack/react-query';

/**
 * The proof of an event, checked by this browser with a verifier that is fetched when it is needed.
 */
export function useProof(shown: AuditEvent) {
  return useQuery({
    queryKey: ['proof', shown.id],
    queryFn: async () => (await import('../../proof/check-event.ts')).checkEvent(shown),
    staleTime: Number.POSITIVE_INFINITY,
  });
}

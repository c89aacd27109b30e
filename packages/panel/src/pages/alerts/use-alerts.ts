import type { AlertRule, AuditEvent } from '@indelible/client';
import { useQuery } from '@tanstack/react-query';
import { client } from '../../api.ts';
import { useChange } from '../../components/use-change.ts';

export function useRules() {
  return useQuery({
    queryKey: ['alert-rules'],
    queryFn: () => client.alerts.rules(),
    staleTime: 0,
  });
}

/** A raised alert, and the record of the person who acknowledged it. */
export interface RaisedAlert {
  event: AuditEvent;
  acknowledged: AuditEvent | undefined;
}

const alertsShown = 20;

/** The newest alerts. */
export function useRaisedAlerts() {
  return useQuery({
    queryKey: ['alerts'],
    queryFn: async (): Promise<RaisedAlert[]> => {
      const of = (action: string, limit: number) =>
        client.page({ action, resource: 'alert', limit });
      const [raised, seen] = await Promise.all([of('raise', alertsShown), of('acknowledge', 200)]);
      const byAlert = new Map(seen.data.map((event) => [event.correlationId, event]));
      return raised.data.map((event) => ({ event, acknowledged: byAlert.get(event.id) }));
    },
    staleTime: 0,
  });
}

/** A change of rules or alerts. */
export const useAlertChange = <Input>(change: (input: Input) => Promise<unknown>) =>
  useChange(['alert-rules', 'alerts'], change);

/** Whether messages about its alerts are held back now. */
export function isMuted({ mutedUntil }: Pick<AlertRule, 'mutedUntil'>, nowMs: number): boolean {
  return mutedUntil !== null && Date.parse(mutedUntil) > nowMs;
}

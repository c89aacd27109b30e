import type { AlertRule } from '@indelible/client';
import { useQuery } from '@tanstack/react-query';
import { client } from '../../api.ts';
import { useChange } from '../../components/use-change.ts';
import { type RaisedAlert, raisedAlerts } from './raised.ts';

export function useRules() {
  return useQuery({
    queryKey: ['alert-rules'],
    queryFn: () => client.alerts.rules(),
    staleTime: 0,
  });
}

const alertsShown = 20;

/** The newest alerts. */
export function useRaisedAlerts() {
  return useQuery({
    queryKey: ['alerts'],
    queryFn: async (): Promise<RaisedAlert[]> => {
      const of = (action: string, limit: number) =>
        client.page({ action, resource: 'alert', limit });
      // More than are shown: producers may have recorded some of them.
      const [raised, seen] = await Promise.all([of('raise', 200), of('acknowledge', 200)]);
      return raisedAlerts(raised.data, seen.data).slice(0, alertsShown);
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

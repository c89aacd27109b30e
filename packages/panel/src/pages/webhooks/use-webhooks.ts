import type { Webhook } from '@indelible/client';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { client } from '../../api.ts';
import { useChange } from '../../components/use-change.ts';
import { serviceNow } from '../../service-clock.ts';
import { nextLookMs } from './condition.ts';

/** A page reloads by itself for this long only, because an unused session must end. */
const watchedMs = 5 * 60_000;

/** Whether to reload automatically. */
function useWatching(): () => boolean {
  const [openedMs] = useState(serviceNow);
  return () => serviceNow() - openedMs < watchedMs;
}

export function useWebhookList() {
  const isWatching = useWatching();
  return useQuery({
    queryKey: ['webhooks'],
    queryFn: () => Array.fromAsync(client.webhooks.list()),
    staleTime: 0,
    refetchInterval: ({ state }) => {
      const looks = (state.data ?? []).map((webhook) => nextLookMs(webhook, serviceNow()));
      const next = looks.filter((ms) => ms !== null);
      return isWatching() && next.length > 0 ? Math.min(...next) : false;
    },
  });
}

/** With new deliveries, their list is read again too. */
export function useWebhook(id: string) {
  const isWatching = useWatching();
  const queries = useQueryClient();
  const queryKey = ['webhooks', id];
  return useQuery({
    queryKey,
    queryFn: async () => {
      const webhook = await client.webhooks.get(id);
      const former = queries.getQueryData<Webhook>(queryKey);
      if (former && former.lastDelivery?.id !== webhook.lastDelivery?.id) {
        void queries.invalidateQueries({ queryKey: ['webhook-deliveries', id] });
      }
      return webhook;
    },
    staleTime: 0,
    refetchInterval: ({ state }) =>
      isWatching() && state.data ? (nextLookMs(state.data, serviceNow()) ?? false) : false,
  });
}

/** A change of a webhook. */
export const useWebhookChange = <Input, Answer>(change: (input: Input) => Promise<Answer>) =>
  useChange(['webhooks', 'webhook-deliveries'], change);

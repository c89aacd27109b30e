import { panelRoot } from '@indelible/protocol';
import { type EventSearch, eventSearchParams } from './search/event-search.ts';

type Query = ConstructorParameters<typeof URLSearchParams>[0];

function withQuery(path: string, parameters: Query): string {
  const query = new URLSearchParams(parameters).toString();
  return query === '' ? path : `${path}?${query}`;
}

/** `path` with the parameters of a search. */
export function withSearch(path: string, search?: EventSearch): string {
  return withQuery(path, search && (eventSearchParams(search) as [string, string][]));
}

export const paths = {
  enter: '/enter',
  events: (search?: EventSearch) => withSearch(`${panelRoot}/events`, search),
  event: (id: string, search?: EventSearch) => withSearch(`${panelRoot}/events/${id}`, search),
  operatorAccess: (search?: EventSearch) => withSearch(`${panelRoot}/operator-access`, search),
  sensitiveAccess: (search?: EventSearch) => withSearch(`${panelRoot}/sensitive-access`, search),
  versions: (resourceId: string, chosen?: { left?: string; right?: string }) =>
    withQuery(`${panelRoot}/resources/${resourceId}`, chosen),
  exports: (search?: EventSearch) => withSearch(`${panelRoot}/exports`, search),
  integrity: `${panelRoot}/integrity`,
  views: `${panelRoot}/views`,
  view: (id: string) => `${panelRoot}/views/${id}`,
  alerts: `${panelRoot}/alerts`,
  searches: `${panelRoot}/searches`,
  search: (id: string) => `${panelRoot}/searches/${id}`,
  webhooks: `${panelRoot}/webhooks`,
  /** `replay`: the first sequence to send again. */
  webhook: (id: string, replay?: string) =>
    withQuery(`${panelRoot}/webhooks/${id}`, replay === undefined ? '' : { replay }),
  webhooksFor: (replay: number) => withQuery(`${panelRoot}/webhooks`, { replay: String(replay) }),
};

import { type EventSearch, eventSearchParams } from './search/event-search.ts';

export const base = '/settings/audit';

type Query = ConstructorParameters<typeof URLSearchParams>[0];

function withQuery(path: string, parameters: Query): string {
  const query = new URLSearchParams(parameters).toString();
  return query === '' ? path : `${path}?${query}`;
}

/** `path` with the parameters of a search. */
function searching(path: string, search?: EventSearch): string {
  return withQuery(path, search && (eventSearchParams(search) as [string, string][]));
}

export const paths = {
  enter: '/enter',
  events: (search?: EventSearch) => searching(`${base}/events`, search),
  event: (id: string, search?: EventSearch) => searching(`${base}/events/${id}`, search),
  operatorAccess: (search?: EventSearch) => searching(`${base}/operator-access`, search),
  sensitiveAccess: (search?: EventSearch) => searching(`${base}/sensitive-access`, search),
  versions: (resourceId: string, chosen?: { left?: string; right?: string }) =>
    withQuery(`${base}/resources/${resourceId}`, chosen),
  exports: (search?: EventSearch) => searching(`${base}/exports`, search),
  integrity: `${base}/integrity`,
  searches: `${base}/searches`,
  search: (id: string) => `${base}/searches/${id}`,
  webhooks: `${base}/webhooks`,
  /** `replay`: the first sequence to send again. */
  webhook: (id: string, at?: { cursor?: string; replay?: string }) =>
    withQuery(`${base}/webhooks/${id}`, at),
  webhooksFor: (replay: number) => withQuery(`${base}/webhooks`, { replay: String(replay) }),
};

/** Whether the address is within the panel; links from elsewhere must not lead outside. */
export function isPanelPath(path: string): boolean {
  return /^\/settings\/audit(?:[/?#]|$)/.test(path) && !path.includes('\\');
}

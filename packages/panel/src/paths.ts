/** Every address of the panel. */

import { type EventSearch, eventSearchParams } from './search/event-search.ts';

const base = '/settings/audit';

/** `path` with the parameters of a search. */
function searching(path: string, search?: EventSearch): string {
  const query = search ? new URLSearchParams(eventSearchParams(search) as [string, string][]) : '';
  return query.toString() === '' ? path : `${path}?${query}`;
}

export const paths = {
  enter: '/enter',
  events: (search?: EventSearch) => searching(`${base}/events`, search),
  event: (id: string, search?: EventSearch) => searching(`${base}/events/${id}`, search),
  operatorAccess: (search?: EventSearch) => searching(`${base}/operator-access`, search),
  recordingAccess: (search?: EventSearch) => searching(`${base}/recording-access`, search),
  versions: (resourceId: string, chosen?: { left?: string; right?: string }) => {
    const query = new URLSearchParams(chosen).toString();
    return `${base}/resources/${resourceId}${query === '' ? '' : `?${query}`}`;
  },
  exports: (search?: EventSearch) => searching(`${base}/exports`, search),
  integrity: `${base}/integrity`,
  searches: `${base}/searches`,
  search: (id: string) => `${base}/searches/${id}`,
};

/** Whether a link may lead here: only within the panel, whatever it came from. */
export function isPanelPath(path: string): boolean {
  return /^\/settings\/audit(?:[/?#]|$)/.test(path) && !path.includes('\\');
}

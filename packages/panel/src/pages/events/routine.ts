import type { AuditEvent } from '@indelible/client';
import type { EventSearch } from '../../search/event-search.ts';

/** The service's routine, as action by resource type: deliveries, sign-ins, retention, archive. */
const actions: Readonly<Record<string, string>> = {
  webhook: 'send',
  session: 'login',
  viewer_link: 'create',
  retention: 'delete',
  archive: 'export',
};

/** Whether a list without filters may fold the event away; never an operator's act or a failure. */
export function isRoutine(event: AuditEvent): boolean {
  const { recordedBy, crossTenant, action, outcome = 'success', resource } = event;
  const isOwn = recordedBy.kind === 'service' && !crossTenant && outcome === 'success';
  return isOwn && actions[resource.type] === action;
}

/** With a filter every match is shown. */
export function mayFold({ facets }: EventSearch): boolean {
  return Object.keys(facets).length === 0;
}

/** Whether a list holds the whole log, and that only what the service records of a new tenant. */
export function isFresh(events: readonly AuditEvent[], search: EventSearch): boolean {
  const isOwn = ({ recordedBy, resource }: AuditEvent) =>
    recordedBy.kind === 'service' || ['tenant', 'api_key', 'viewer_link'].includes(resource.type);
  const isWhole = events.every(({ sequence }) => sequence < events.length);
  return mayFold(search) && isWhole && events.every(isOwn);
}

import type { AuditEvent } from '@indelible/client';
import { revealed } from '@indelible/protocol';
import { useQuery } from '@tanstack/react-query';
import { client } from '../../api.ts';
import { AppLink } from '../../components/AppLink.tsx';
import { LoadError } from '../../components/States.tsx';
import { useTexts, wordOf } from '../../i18n/texts.tsx';
import { useFormats } from '../../i18n/use-formats.ts';
import { paths } from '../../paths.ts';
import type { EventSearch } from '../../search/event-search.ts';
import { useSession } from '../../session/session-context.tsx';
import { useLookText } from './use-look-text.ts';
import { isLook, type Visit } from './visits.ts';

/** Each record of a visit, in words; a list of events has no states, so they are loaded here. */
export function VisitLooks({ visit, search }: { visit: Visit; search: EventSearch }) {
  const t = useTexts();
  const formats = useFormats();
  const states = useStates(visit);
  return (
    <>
      {states.isError && <LoadError error={states.error} retry={states.refetch} />}
      <ul aria-label={t.access.seen} className="space-y-1 py-1 pl-5 max-lg:px-4">
        {visit.events.map((event) => (
          <li key={event.id} className="flex flex-wrap gap-x-4">
            <AppLink href={paths.event(event.id, search)} className="link tabular-nums">
              {formats.time(event.timestamp)}
            </AppLink>
            <span dir="auto" className="min-w-0 wrap-anywhere">
              <What event={states.data?.get(event.id) ?? event} />
            </span>
          </li>
        ))}
      </ul>
    </>
  );
}

function What({ event }: { event: AuditEvent }) {
  const t = useTexts();
  const look = useLookText()(event);
  if (look !== null) return look;
  const { action, resource } = event;
  const name = resource.name === null ? '' : ` · ${revealed(resource.name)}`;
  return `${wordOf(t.actions, action)} · ${wordOf(t.resources, resource.type)}${name}`;
}

/** The records of what was looked at in this visit, with their states, by id. */
function useStates({ key, fromMs, toMs, events }: Visit) {
  const { tenant } = useSession();
  const [{ actor }] = events;
  const query = {
    ...{ from: new Date(fromMs).toISOString(), to: new Date(toMs + 1).toISOString() },
    ...{ user: actor.id, action: 'access', resource: 'audit_log', resourceId: tenant.id },
    ...{ includeState: true, limit: 500 },
  };
  return useQuery({
    queryKey: ['looks', key, query],
    enabled: events.some(isLook),
    queryFn: async () => {
      const { data } = await client.page(query);
      return new Map(data.map((event) => [event.id, event]));
    },
  });
}

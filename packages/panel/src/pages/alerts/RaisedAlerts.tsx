import { revealed } from '@indelible/protocol';
import { Check } from 'lucide-react';
import { useState } from 'react';
import { client } from '../../api.ts';
import { AppLink } from '../../components/AppLink.tsx';
import { Button } from '../../components/Button.tsx';
import { LoadedList } from '../../components/paged-list.tsx';
import { ActionError, QueryState } from '../../components/States.tsx';
import { useReader, useTexts } from '../../i18n/texts.tsx';
import { paths } from '../../paths.ts';
import { useEvent } from '../../search/use-events.ts';
import { EventLinks } from './Backtest.tsx';
import type { RaisedAlert } from './raised.ts';
import { useAlertChange, useRaisedAlerts } from './use-alerts.ts';

/** The newest alerts, the events that set them off, and who has seen them. */
export function RaisedAlerts() {
  const t = useTexts();
  const alerts = useRaisedAlerts();
  return (
    <section className="mx-4 mb-8 lg:mx-6">
      <h2 className="mb-2 font-semibold">{t.alerts.raised}</h2>
      <LoadedList
        query={alerts}
        items={alerts.data}
        none={<p className="text-muted">{t.alerts.noneRaised}</p>}
      >
        {(alert) => <Alert key={alert.event.id} alert={alert} />}
      </LoadedList>
    </section>
  );
}

function Alert({ alert: { event, acknowledged } }: { alert: RaisedAlert }) {
  const { t, formats } = useReader();
  const [isOpen, setOpen] = useState(false);
  const { id, timestamp, resource } = event;
  const acknowledge = useAlertChange(() => client.alerts.acknowledge(resource.id, id));
  const who = acknowledged?.actor.email ?? acknowledged?.actor.id;
  return (
    <li className="px-4 py-3 text-[0.8125rem]">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <AppLink
          href={paths.event(id)}
          dir="auto"
          className="inline-flex min-h-6 min-w-6 items-center font-medium wrap-anywhere hover:underline"
        >
          {revealed(resource.name ?? resource.id)}
        </AppLink>
        <span className="text-xs text-faint tabular-nums">{formats.dateTime(timestamp)}</span>
        <button
          type="button"
          className="link min-h-6 cursor-pointer text-xs"
          aria-expanded={isOpen}
          onClick={() => setOpen(!isOpen)}
        >
          {t.alerts.setOffBy}
        </button>
        <span className="ml-auto text-xs text-muted">
          {who !== undefined && t.alerts.acknowledgedBy({ who })}
        </span>
        {who === undefined && (
          <Button
            Icon={Check}
            className="no-print"
            disabled={acknowledge.isPending}
            onClick={() => acknowledge.mutate(undefined)}
          >
            {t.alerts.acknowledge}
          </Button>
        )}
      </div>
      {isOpen && <Causes alertId={id} />}
      <ActionError error={acknowledge.error} />
    </li>
  );
}

/** The state of the alert's event names them. */
function Causes({ alertId }: { alertId: string }) {
  const t = useTexts();
  const alert = useEvent(alertId);
  if (!alert.isSuccess) return <QueryState query={alert} />;
  const { events } = alert.data.after ?? {};
  const ids = Array.isArray(events) ? events.filter((id) => typeof id === 'string') : [];
  return (
    <p className="mt-1.5 flex flex-wrap gap-x-3 gap-y-1 text-xs">
      {ids.length === 0 ? t.alerts.noEvents : <EventLinks ids={ids} />}
    </p>
  );
}

import type { AuditEvent } from '@indelible/client';
import { IndelibleError } from '@indelible/client';
import { parseTimestamp } from '@indelible/protocol';
import { useParams } from '@tanstack/react-router';
import { History, Undo2, X } from 'lucide-react';
import { type ReactNode, useEffect, useRef } from 'react';
import { ActionLabel } from '../../components/ActionLabel.tsx';
import { AppLink } from '../../components/AppLink.tsx';
import { ErasedNote, ErasedValue, isErased } from '../../components/Erased.tsx';
import { LoadError, Notice, Skeleton } from '../../components/States.tsx';
import { Value } from '../../components/Value.tsx';
import { useTexts, wordOf } from '../../i18n/texts.tsx';
import { useFormats } from '../../i18n/use-formats.ts';
import { paths } from '../../paths.ts';
import { useEvent } from '../../search/use-events.ts';
import { useEventSearch } from '../../use-location.ts';
import { ChangedFields } from './ChangedFields.tsx';
import { EventFacts } from './EventFacts.tsx';
import { EventJson } from './EventJson.tsx';
import { Reason } from './EventRow.tsx';
import { ProofBadge } from './ProofBadge.tsx';
import { StatesSideBySide } from './StatesSideBySide.tsx';

/** One event, beside the list it was opened from; over it where there is no room beside. */
export default function EventDetail() {
  const t = useTexts();
  const { eventId = '' } = useParams({ strict: false });
  const event = useEvent(eventId);
  const pane = useRef<HTMLElement>(null);
  const [search] = useEventSearch();
  // biome-ignore lint/correctness/useExhaustiveDependencies: each event anew
  useEffect(() => {
    // Over the list the reader follows to the event; beside it, j and k keep walking the list.
    if (window.innerWidth < 1280) pane.current?.focus();
    pane.current?.scrollTo(0, 0);
  }, [eventId]);
  return (
    <section
      ref={pane}
      tabIndex={-1}
      aria-label={t.detail.title}
      className="fixed inset-0 z-20 overflow-y-auto bg-raised outline-none lg:left-60 xl:sticky xl:top-0 xl:left-auto xl:h-dvh xl:border-l xl:border-line print:static print:h-auto print:border-0"
    >
      <div className="no-print sticky top-0 z-10 flex items-center gap-1 border-b border-line bg-raised/95 px-5 py-2.5 backdrop-blur">
        <p className="min-w-0 truncate font-mono text-2xs text-faint">{eventId}</p>
        <AppLink
          href={paths.events(search)}
          className="btn btn-quiet icon-btn ml-auto"
          aria-label={t.buttons.close}
          title={t.buttons.close}
        >
          <X aria-hidden />
        </AppLink>
      </div>
      {event.isPending && <Skeleton lines={10} label={t.events.loading} />}
      {event.isError && <NoEvent error={event.error} retry={event.refetch} />}
      {event.data && <Detail event={event.data} />}
    </section>
  );
}

function NoEvent({ error, retry }: { error: unknown; retry: () => void }) {
  const t = useTexts();
  const missing = error instanceof IndelibleError && error.code === 'not_found';
  return missing ? (
    <Notice title={t.error.eventNotFound} />
  ) : (
    <LoadError error={error} retry={retry} />
  );
}

function Detail({ event }: { event: AuditEvent }) {
  const t = useTexts();
  const { before = null, after = null } = event;
  const changed = Object.keys(event.diff).length;
  const hasState = before !== null || after !== null;
  return (
    <div className="space-y-6 px-5 pt-5 pb-10">
      <Headline event={event} />
      {event.erased && <ErasedNote erased={event.erased} />}
      {event.crossTenant && !isErased(event, 'change') && (
        <div className="rounded-lg bg-warn-soft px-3 py-2.5">
          <p className="text-2xs font-medium text-warn">{t.operator.reason}</p>
          <div className="mt-0.5 [&_span]:text-sm">
            <Reason reason={event.reason} />
          </div>
        </div>
      )}
      {(changed > 0 || !hasState) && !isErased(event, 'change') && (
        <Part title={changed > 0 ? t.detail.changed(changed) : t.events.changes}>
          <ChangedFields diff={event.diff} />
        </Part>
      )}
      {hasState && (
        <Part title={t.detail.sideBySide}>
          <StatesSideBySide before={before} after={after} />
        </Part>
      )}
      {hasState && <VersionLinks event={event} />}
      <ProofBadge event={event} />
      <Part title={t.detail.facts}>
        <EventFacts event={event} />
      </Part>
      <EventJson event={event} />
    </div>
  );
}

function Headline({ event }: { event: AuditEvent }) {
  const t = useTexts();
  const formats = useFormats();
  const { action, actor, resource } = event;
  const ms = parseTimestamp(event.timestamp) ?? 0;
  const gone = isErased(event, 'identity');
  return (
    <header>
      <p className="text-xs text-muted">
        <Value facet="action" value={action} label={wordOf(t.actions, action)}>
          <ActionLabel action={action} />
        </Value>{' '}
        ·{' '}
        <Value facet="resource" value={resource.type} label={wordOf(t.resources, resource.type)}>
          {wordOf(t.resources, resource.type)}
        </Value>
      </p>
      <h2 dir="auto" className="mt-1 text-lg leading-snug font-semibold tracking-tight break-words">
        {resource.name ?? (gone ? <ErasedValue /> : t.events.unnamed)}
      </h2>
      <p className="mt-1 text-muted">
        {actor.email ?? (gone ? <ErasedValue /> : wordOf({}, actor.role))} · {formats.dateTime(ms)}
        <span className="text-faint"> ({formats.relative(ms, Date.now())})</span>
      </p>
    </header>
  );
}

function VersionLinks({ event }: { event: AuditEvent }) {
  const t = useTexts();
  return (
    <div className="no-print flex flex-wrap gap-2">
      <AppLink href={paths.versions(event.resource.id)} className="btn">
        <History aria-hidden />
        {t.filters.seeVersions}
      </AppLink>
      <AppLink
        href={paths.versions(event.resource.id, { right: event.id })}
        className="btn btn-quiet"
      >
        <Undo2 aria-hidden />
        {t.restore.button}
      </AppLink>
    </div>
  );
}

function Part({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section>
      <h3 className="mb-2 text-xs font-semibold text-muted">{title}</h3>
      {children}
    </section>
  );
}

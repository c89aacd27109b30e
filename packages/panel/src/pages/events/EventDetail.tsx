import type { AuditEvent } from '@indelible/client';
import { type Diff, diffFieldsMax, revealed } from '@indelible/protocol';
import { useParams } from '@tanstack/react-router';
import { ArrowRight, History, Undo2, X } from 'lucide-react';
import { type ReactNode, useEffect, useRef } from 'react';
import { ActionValue, OutcomeBadge } from '../../components/ActionLabel.tsx';
import { AppLink } from '../../components/AppLink.tsx';
import { ChangedText } from '../../components/ChangedText.tsx';
import { CopyButton } from '../../components/CopyButton.tsx';
import { ErasedNote, ErasedValue, isErased } from '../../components/Erased.tsx';
import { focusOpenRow } from '../../components/list-keys.ts';
import { useActorText } from '../../components/Parties.tsx';
import { MoreButton, useShown } from '../../components/paged-list.tsx';
import { ScrollRegion } from '../../components/ScrollRegion.tsx';
import { isMissing, Notice, QueryState } from '../../components/States.tsx';
import { Value } from '../../components/Value.tsx';
import { useReader, useTexts, wordOf } from '../../i18n/texts.tsx';
import { paths } from '../../paths.ts';
import { useEvent } from '../../search/use-events.ts';
import { serviceNow } from '../../service-clock.ts';
import { useMayRestore } from '../../session/session-context.tsx';
import { useEventSearch } from '../../use-location.ts';
import { isVersion } from '../versions/versions.ts';
import { EventFacts } from './EventFacts.tsx';
import { Reason } from './EventRow.tsx';
import { ProofBadge } from './ProofBadge.tsx';
import { StatesSideBySide } from './StatesSideBySide.tsx';

/** One event beside its list, or over the list on a narrow screen. */
export default function EventDetail() {
  const t = useTexts();
  const { eventId = '' } = useParams({ strict: false });
  const event = useEvent(eventId);
  const pane = useRef<HTMLElement>(null);
  const [search] = useEventSearch();
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs for each event
  useEffect(() => {
    // Over the list the event takes the focus; beside it the list keeps the focus for j and k.
    if (window.innerWidth < 1280) pane.current?.focus();
    pane.current?.scrollTo(0, 0);
    // Beside an event the rows are higher, so the one that was chosen has moved.
    document.querySelector('tr[aria-current]')?.scrollIntoView({ block: 'nearest' });
    return () => document.activeElement?.scrollIntoView({ block: 'nearest' });
  }, [eventId]);
  return (
    <section
      ref={pane}
      tabIndex={-1}
      aria-label={t.detail.title}
      className="fixed inset-0 z-20 overflow-y-auto bg-raised outline-none lg:not-in-data-[chrome=none]:left-60 xl:sticky xl:top-0 xl:left-auto xl:h-dvh xl:border-l xl:border-line print:static print:h-auto print:border-0"
    >
      <div className="no-print sticky top-0 z-10 flex items-center gap-1 border-b border-line bg-raised/95 px-5 py-2.5 backdrop-blur">
        <p className="min-w-0 truncate font-mono text-2xs text-faint">{eventId}</p>
        <AppLink
          href={paths.events(search)}
          className="btn btn-quiet icon-btn ml-auto"
          aria-label={t.buttons.close}
          title={t.buttons.close}
          onClick={focusOpenRow}
        >
          <X aria-hidden />
        </AppLink>
      </div>
      {isMissing(event.error) ? (
        <Notice title={t.error.eventNotFound} />
      ) : (
        <QueryState query={event} lines={10} />
      )}
      {event.data && <Detail event={event.data} />}
    </section>
  );
}

function Detail({ event }: { event: AuditEvent }) {
  const t = useTexts();
  const { before = null, after = null } = event;
  const changed = Object.keys(event.diff).length;
  const hasState = before !== null || after !== null;
  // The service keeps no more changes of an event than these.
  const countText = changed < diffFieldsMax ? t.detail.changed : t.detail.changedOver;
  return (
    <div className="space-y-6 px-5 pt-5 pb-10">
      <Headline event={event} />
      {event.erased && <ErasedNote erased={event.erased} />}
      {event.crossTenant && !isErased(event, 'change') && (
        <div className="rounded-lg bg-warn-soft px-3 py-2.5">
          <p className="text-2xs font-medium text-warn">{t.operator.reason}</p>
          <div className="mt-0.5 [&_span]:line-clamp-none [&_span]:text-sm [&_span]:wrap-anywhere">
            <Reason event={event} />
          </div>
        </div>
      )}
      {(changed > 0 || !hasState) && !isErased(event, 'change') && (
        <Part title={changed > 0 ? countText({ count: changed }) : t.events.changes}>
          <ChangedFields diff={event.diff} />
        </Part>
      )}
      {hasState && <VersionLinks event={event} />}
      <ProofBadge event={event} />
      {hasState && (
        <Part title={t.detail.sideBySide}>
          <StatesSideBySide before={before} after={after} />
        </Part>
      )}
      <Part title={t.detail.facts}>
        <EventFacts event={event} />
      </Part>
      <EventJson event={event} />
    </div>
  );
}

function Headline({ event }: { event: AuditEvent }) {
  const { t, formats } = useReader();
  const { resource } = event;
  const type = wordOf(t.resources, resource.type);
  const name = resource.name && revealed(resource.name);
  const actorText = useActorText();
  const gone = isErased(event, 'identity');
  return (
    <header>
      <p className="flex flex-wrap items-center gap-x-2 text-xs text-muted">
        <ActionValue event={event} />
        <span aria-hidden>·</span>
        <Value facet="resource" value={resource.type} label={type} />
        <OutcomeBadge event={event} />
      </p>
      <h2
        dir="auto"
        className="mt-1 text-lg leading-snug font-semibold tracking-tight wrap-anywhere"
      >
        {name ?? (gone ? <ErasedValue /> : `${type} ${resource.id.slice(0, 8)}`)}
      </h2>
      <p className="mt-1 text-muted wrap-anywhere">
        <span dir="auto">{actorText(event)}</span> · {formats.dateTime(event.timestamp)}
        <span className="text-faint"> ({formats.relative(event.timestamp, serviceNow())})</span>
      </p>
    </header>
  );
}

function VersionLinks({ event }: { event: AuditEvent }) {
  const t = useTexts();
  const mayRestore = useMayRestore();
  return (
    <div className="no-print flex flex-wrap gap-2">
      <AppLink href={paths.versions(event.resource.id)} className="btn">
        <History aria-hidden />
        {t.filters.seeVersions}
      </AppLink>
      {mayRestore(event) && isVersion(event) && (
        <AppLink
          href={paths.versions(event.resource.id, { right: event.id })}
          className="btn btn-quiet"
        >
          <Undo2 aria-hidden />
          {t.restore.button}
        </AppLink>
      )}
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

const fieldsShown = 12;

/** Each field that changed, with its value before and after. */
function ChangedFields({ diff }: { diff: Diff }) {
  const t = useTexts();
  const fields = Object.entries(diff);
  const { shown, more } = useShown(fields, fieldsShown);
  if (fields.length === 0) return <p className="text-muted">{t.events.noChanges}</p>;
  return (
    <>
      <dl className="divide-y divide-line rounded-lg border border-line">
        {shown.map(([field, { from, to }]) => (
          <div key={field} className="keep px-3 py-2">
            <dt className="font-mono text-xs break-all text-faint">{revealed(field)}</dt>
            <dd className="mt-1 grid grid-cols-[minmax(0,1fr)_auto_minmax(0,1fr)] items-start gap-2 text-[0.8125rem]">
              <span>
                <span className="sr-only">{t.detail.before}: </span>
                <ChangedText from={from} to={to} side="from" />
              </span>
              <ArrowRight aria-hidden className="mt-1 size-3.5 text-faint" />
              <span>
                <span className="sr-only">{t.detail.after}: </span>
                <ChangedText from={from} to={to} side="to" />
              </span>
            </dd>
          </div>
        ))}
      </dl>
      <MoreButton {...more} />
    </>
  );
}

/** The event as JSON, with actions to copy it. */
function EventJson({ event }: { event: AuditEvent }) {
  const t = useTexts();
  const json = JSON.stringify(event, null, 2);
  const url = `${location.origin}/api/audit-logs/${event.id}`;
  // Without a key: the reader sets the variable.
  const curl = `curl -H "Authorization: Bearer $INDELIBLE_API_KEY" '${url}'`;
  const copies = [
    [t.detail.copyId, event.id],
    [t.detail.copyJson, json],
    [t.detail.copyCurl, curl],
    [t.buttons.copyLink, location.origin + paths.event(event.id)],
  ] as const;
  return (
    <>
      <div className="no-print flex flex-wrap gap-1.5">
        {copies.map(([label, text]) => (
          <CopyButton key={label} text={text} className="btn h-7 text-xs [&>svg]:size-3.5">
            {label}
          </CopyButton>
        ))}
      </div>
      <details className="rounded-lg border border-line">
        <summary className="px-3 py-2 text-xs font-semibold text-muted">JSON</summary>
        <ScrollRegion label="JSON" className="max-h-96 border-t border-line p-3">
          <pre className="font-mono text-xs leading-5 break-all whitespace-pre-wrap">
            {revealed(json)}
          </pre>
        </ScrollRegion>
      </details>
    </>
  );
}

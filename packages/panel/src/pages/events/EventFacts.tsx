import type { AuditEvent } from '@indelible/client';
import { parseTimestamp, revealed } from '@indelible/protocol';
import { AppLink } from '../../components/AppLink.tsx';
import { ErasedValue, isErased } from '../../components/Erased.tsx';
import { Fact } from '../../components/Fact.tsx';
import { Moments } from '../../components/MomentCard.tsx';
import { PartyName } from '../../components/Parties.tsx';
import { RecordedBy } from '../../components/RecordedBy.tsx';
import { Value } from '../../components/Value.tsx';
import { useTexts, wordOf } from '../../i18n/texts.tsx';
import { useFormats } from '../../i18n/use-formats.ts';
import { paths } from '../../paths.ts';
import { useMay } from '../../session/session-context.tsx';
import { ContextFacts } from './ContextFacts.tsx';
import { makersOf } from './makers.ts';

/** All other facts of an event; each value can be copied or filtered by. */
export function EventFacts({ event }: { event: AuditEvent }) {
  const t = useTexts();
  const formats = useFormats();
  const { actor, resource, category } = event;
  const mayReplay = useMay('webhooks:write');
  const categoryName = wordOf(t.categories, category);
  const gone = isErased(event, 'identity');
  const none = gone ? <ErasedValue /> : '—';
  return (
    <>
      <dl className="text-[0.8125rem]">
        <Fact name={t.events.who}>
          <PartyName event={event} party={actor} facet="user" />
          {actor.email !== null && actor.name !== undefined && ` (${revealed(actor.name)})`}
        </Fact>
        <Fact name={t.detail.role}>{wordOf(t.actors.roles, actor.role)}</Fact>
        <ContextFacts event={event} />
        <Fact name={t.detail.actorId} copy={actor.id}>
          <Value facet="user" value={actor.id} label={actor.id} className="font-mono text-xs">
            {actor.id}
          </Value>
        </Fact>
        <Fact name={t.filters.resourceId} copy={resource.id}>
          <Value
            facet="resourceId"
            value={resource.id}
            label={resource.id}
            resourceId={resource.id}
            className="font-mono text-xs"
          >
            {resource.id}
          </Value>
        </Fact>
        <Fact name={t.events.origin}>{actor.ip === null ? none : <Address ip={actor.ip} />}</Fact>
        <Fact name={t.detail.userAgent}>
          <span className="text-xs wrap-anywhere text-muted">
            {actor.userAgent === null ? none : revealed(actor.userAgent)}
          </span>
        </Fact>
        <Fact name={t.filters.category}>
          <Value facet="category" value={category} label={categoryName}>
            {categoryName}
          </Value>
        </Fact>
        <Fact name={t.detail.recordedBy}>
          <RecordedBy by={event.recordedBy} />
        </Fact>
        <Makers event={event} />
        <Fact name={t.detail.received}>{formats.exact(event.receivedAt)}</Fact>
        <Fact name={t.detail.sequence}>
          {formats.number(event.sequence)}
          {mayReplay && (
            <AppLink
              href={paths.webhooksFor(event.sequence)}
              className="no-print link ml-3 text-xs"
            >
              {t.detail.sendAgain}
            </AppLink>
          )}
        </Fact>
      </dl>
      <h3 className="mt-6 mb-2 text-xs font-semibold text-muted">{t.detail.moment}</h3>
      <div className="-mx-1.5">
        <Moments ms={parseTimestamp(event.timestamp) ?? 0} />
      </div>
    </>
  );
}

function Makers({ event }: { event: AuditEvent }) {
  const t = useTexts();
  return makersOf(event).map(({ mark, maker }) => (
    <Fact key={mark} name={t.detail[mark]} copy={maker.id}>
      {t.detail.makers[maker.kind]}{' '}
      <span className="font-mono text-2xs text-faint">{maker.id.slice(0, 8)}</span>
    </Fact>
  ));
}

function Address({ ip }: { ip: string }) {
  return (
    <Value facet="ip" value={ip} label={ip}>
      {ip}
    </Value>
  );
}

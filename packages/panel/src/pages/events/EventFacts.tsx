import type { AuditEvent } from '@indelible/client';
import { type Party, parseTimestamp, revealed } from '@indelible/protocol';
import { AppLink } from '../../components/AppLink.tsx';
import { ErasedValue, isErased } from '../../components/Erased.tsx';
import { Fact } from '../../components/Fact.tsx';
import { Moments } from '../../components/MomentCard.tsx';
import { PartyName, RecordedBy } from '../../components/Parties.tsx';
import { TargetValue } from '../../components/TargetValue.tsx';
import { Value } from '../../components/Value.tsx';
import { roleText, useReader, useTexts, wordOf } from '../../i18n/texts.tsx';
import { paths } from '../../paths.ts';
import { emptySearch, onlyValue } from '../../search/event-search.ts';
import { useMay } from '../../session/session-context.tsx';
import { makersOf } from './makers.ts';

/** All other facts of an event; each value can be copied or filtered by. */
export function EventFacts({ event }: { event: AuditEvent }) {
  const { t, formats } = useReader();
  const { actor, resource, category } = event;
  const mayReplay = useMay('webhooks:write');
  const gone = isErased(event, 'identity');
  const none = gone ? <ErasedValue /> : '—';
  return (
    <>
      <dl className="text-[0.8125rem]">
        <Fact name={t.events.who}>
          <PartyName event={event} party={actor} facet="user" />
          {actor.email !== null && actor.name !== undefined && ` (${revealed(actor.name)})`}
        </Fact>
        <Fact name={t.detail.role}>{roleText(t.actors.roles, actor.role)}</Fact>
        <ContextFacts event={event} />
        <Fact name={t.detail.actorId} copy={actor.id}>
          <Value facet="user" value={actor.id} label={actor.id} className="font-mono text-xs" />
        </Fact>
        <Fact name={t.filters.resourceId} copy={resource.id}>
          <Value
            facet="resourceId"
            value={resource.id}
            label={resource.id}
            resourceId={resource.id}
            className="font-mono text-xs"
          />
        </Fact>
        <Fact name={t.events.origin}>
          {actor.ip === null ? none : <Value facet="ip" value={actor.ip} label={actor.ip} />}
        </Fact>
        <Fact name={t.detail.userAgent}>
          <span className="text-xs wrap-anywhere text-muted">
            {actor.userAgent === null ? none : revealed(actor.userAgent)}
          </span>
        </Fact>
        <Fact name={t.filters.category}>
          <Value facet="category" value={category} label={wordOf(t.categories, category)} />
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

/** For whom and how it was done, and what else the product recorded; only what the event has. */
function ContextFacts({ event }: { event: AuditEvent }) {
  const { t, formats } = useReader();
  const { actor, resource, onBehalfOf = [], correlationId, traceId, targets = [], source } = event;
  return (
    <>
      {!event.crossTenant && event.reason !== null && (
        <Fact name={t.operator.formLabel}>
          <bdi>{revealed(event.reason)}</bdi>
        </Fact>
      )}
      {actor.type !== undefined && (
        <Fact name={t.filters.actorType}>
          <Value facet="actorType" value={actor.type} label={t.actors.kinds[actor.type]} />
        </Fact>
      )}
      {onBehalfOf.map((party, at) => (
        <Person key={party.id ?? at} event={event} party={party} />
      ))}
      <Via event={event} />
      <Text name={t.detail.externalActorId} text={actor.externalId} />
      <Text name={t.detail.externalResourceId} text={resource.externalId} />
      {correlationId !== undefined && <Correlation id={correlationId} />}
      {traceId !== undefined && (
        <Fact name={t.filters.traceId} copy={traceId}>
          <Value facet="traceId" value={traceId} label={traceId} className="font-mono text-xs" />
        </Fact>
      )}
      {targets.map((target, at) => (
        <Fact key={target.id ?? at} name={t.detail.targets} copy={target.externalId ?? target.id}>
          <span className="text-faint">{wordOf(t.resources, target.type ?? '')}</span>{' '}
          <TargetValue target={target} />
        </Fact>
      ))}
      {source && (
        <Fact name={t.detail.source} code={source.id}>
          {` · ${formats.number(source.sequence)}`}
        </Fact>
      )}
      <Metadata event={event} />
      <AsSent event={event} />
    </>
  );
}

/** A text of the product, if the event has it. */
function Text({ name, text }: { name: string; text: string | undefined }) {
  return text !== undefined && <Fact name={name} code={text} />;
}

function Person({ event, party }: { event: AuditEvent; party: Party }) {
  const t = useTexts();
  const { type, role, name, email, externalId, id } = party;
  const more = [
    ...(email && name !== undefined ? [revealed(name)] : []),
    ...(type === undefined ? [] : [t.actors.kinds[type]]),
    ...(role === undefined ? [] : [roleText(t.actors.roles, role)]),
  ];
  const copy = externalId ?? id;
  return (
    <Fact name={t.filters.onBehalfOf} copy={copy}>
      <PartyName event={event} party={party} facet="onBehalfOf" />
      {more.length > 0 && <bdi className="ml-2 text-xs text-faint">{more.join(' · ')}</bdi>}
    </Fact>
  );
}

const viaParts = ['tool', 'clientId', 'sessionId'] as const;

function Via({ event: { via } }: { event: AuditEvent }) {
  const t = useTexts();
  if (via === undefined) return null;
  const parts = viaParts.flatMap((part) => {
    const text = via[part];
    return text === undefined ? [] : [`${t.detail.viaParts[part]} ${revealed(text)}`];
  });
  return (
    <Fact name={t.detail.via}>
      <bdi>{[revealed(via.channel), ...parts].join(' · ')}</bdi>
    </Fact>
  );
}

function Correlation({ id }: { id: string }) {
  const t = useTexts();
  const request = {
    ...emptySearch,
    facets: onlyValue({}, 'correlationId', id),
    range: { kind: 'last', preset: 'all' } as const,
  };
  return (
    <Fact name={t.filters.correlationId} copy={id}>
      <Value facet="correlationId" value={id} label={id} className="font-mono text-xs">
        <bdi>{revealed(id)}</bdi>
      </Value>
      <AppLink href={paths.events(request)} className="no-print link block text-xs">
        {t.detail.sameRequest}
      </AppLink>
    </Fact>
  );
}

function Metadata({ event: { metadata = {} } }: { event: AuditEvent }) {
  return <MembersFact name={useTexts().detail.metadata} members={Object.entries(metadata)} />;
}

/** The texts of cut and dropped values, as the product sent them. */
function AsSent({ event: { asSent = {} } }: { event: AuditEvent }) {
  return <MembersFact name={useTexts().detail.asSent} members={Object.entries(asSent)} />;
}

function MembersFact({ name, members }: { name: string; members: [string, unknown][] }) {
  if (members.length === 0) return null;
  return (
    <Fact name={name}>
      <dl className="space-y-0.5 text-xs">
        {members.map(([name, value]) => (
          <div key={name} className="flex gap-2">
            <dt className="shrink-0 font-mono text-faint">{revealed(name)}</dt>
            <dd dir="auto" className="min-w-0 wrap-anywhere">
              {revealed(String(value))}
            </dd>
          </div>
        ))}
      </dl>
    </Fact>
  );
}

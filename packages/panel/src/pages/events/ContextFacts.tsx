import type { AuditEvent } from '@indelible/client';
import { type Party, revealed } from '@indelible/protocol';
import { AppLink } from '../../components/AppLink.tsx';
import { Fact } from '../../components/Fact.tsx';
import { PartyName } from '../../components/Parties.tsx';
import { Value } from '../../components/Value.tsx';
import { useTexts, wordOf } from '../../i18n/texts.tsx';
import { useFormats } from '../../i18n/use-formats.ts';
import { paths } from '../../paths.ts';
import { emptySearch, onlyValue } from '../../search/event-search.ts';

/** For whom and how it was done, and what else the product recorded; only what the event has. */
export function ContextFacts({ event }: { event: AuditEvent }) {
  const t = useTexts();
  const formats = useFormats();
  const { actor, resource, onBehalfOf = [], correlationId, traceId, targets = [], source } = event;
  return (
    <>
      {actor.type !== undefined && (
        <Fact name={t.filters.actorType}>
          <Value facet="actorType" value={actor.type} label={t.actors.kinds[actor.type]}>
            {t.actors.kinds[actor.type]}
          </Value>
        </Fact>
      )}
      {onBehalfOf.map((party, at) => (
        <Person key={party.id ?? at} event={event} party={party} />
      ))}
      <Via event={event} />
      <Text name={t.detail.externalActorId} text={actor.externalId} />
      <Text name={t.detail.externalResourceId} text={resource.externalId} />
      {correlationId !== undefined && <Correlation id={correlationId} />}
      <Text name={t.detail.traceId} text={traceId} />
      {targets.map(({ type = '', id = '', externalId, name }) => (
        <Fact key={`${type} ${id}`} name={t.detail.targets} copy={externalId ?? id}>
          <span className="text-faint">{wordOf(t.resources, type)}</span>{' '}
          <bdi>{revealed(name ?? externalId ?? id)}</bdi>
        </Fact>
      ))}
      {source !== undefined && (
        <Text
          name={t.detail.source}
          text={`${source.id} · ${formats.number(source.sequence)}`}
          copy={source.id}
        />
      )}
      <Metadata event={event} />
    </>
  );
}

interface TextProps {
  name: string;
  text: string | undefined;
  copy?: string;
}

function Text({ name, text, copy = text }: TextProps) {
  if (text === undefined) return null;
  return (
    <Fact name={name} {...(copy !== undefined && { copy })}>
      <bdi className="font-mono text-xs">{revealed(text)}</bdi>
    </Fact>
  );
}

function Person({ event, party }: { event: AuditEvent; party: Party }) {
  const t = useTexts();
  const { type, role, name, email, externalId, id } = party;
  const more = [
    ...(email && name !== undefined ? [revealed(name)] : []),
    ...(type === undefined ? [] : [t.actors.kinds[type]]),
    ...(role === undefined ? [] : [wordOf(t.actors.roles, role)]),
  ];
  const copy = externalId ?? id;
  return (
    <Fact name={t.filters.onBehalfOf} {...(copy !== undefined && { copy })}>
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
  const t = useTexts();
  const members = Object.entries(metadata);
  if (members.length === 0) return null;
  return (
    <Fact name={t.detail.metadata}>
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

import type { Webhook } from '@indelible/client';
import { useParams } from '@tanstack/react-router';
import { AppLink } from '../../components/AppLink.tsx';
import { Fact } from '../../components/Fact.tsx';
import { PageHead } from '../../components/PageHead.tsx';
import { FailedPage, LoadingPage } from '../../components/States.tsx';
import { textOf, useReader, useTexts } from '../../i18n/texts.tsx';
import { paths } from '../../paths.ts';
import { lineOf, useCriteriaTexts } from '../../search/use-criteria-texts.ts';
import { useSearchPairs } from '../../use-location.ts';
import { conditionOf } from './condition.ts';
import { DeliveryLog } from './DeliveryLog.tsx';
import { Failure } from './Failure.tsx';
import { formatFields } from './formats.ts';
import { useWebhook } from './use-webhooks.ts';
import { WebhookActions } from './WebhookActions.tsx';
import { ConditionBadge, useConditionText, webhookName } from './WebhookCondition.tsx';

/** One webhook: its condition, actions, settings and deliveries. */
export default function WebhookPage() {
  const { webhookId = '' } = useParams({ strict: false });
  // The key resets all state when the address names another webhook.
  return <WebhookDetail key={webhookId} id={webhookId} />;
}

function WebhookDetail({ id }: { id: string }) {
  const w = useTexts().webhooks;
  const webhook = useWebhook(id);
  if (webhook.isPending) return <LoadingPage title={w.facts.title} />;
  // A reload that fails leaves what is shown.
  if (webhook.data === undefined) return <FailedPage query={webhook} />;
  return <Shown webhook={webhook.data} refresh={webhook.refetch} />;
}

function Shown({ webhook, refresh }: { webhook: Webhook; refresh: () => void }) {
  const t = useTexts();
  const w = t.webhooks;
  const replay = new Map(useSearchPairs()).get('replay');
  return (
    <>
      <div className="px-4 pt-4 text-xs lg:px-6">
        <AppLink href={paths.webhooks} className="link">
          {t.nav.webhooks}
        </AppLink>
      </div>
      <PageHead title={webhookName(webhook)} aside={<ConditionBadge webhook={webhook} />} />
      <div className="space-y-6 px-4 pb-12 lg:px-6">
        <How webhook={webhook} />
        <WebhookActions webhook={webhook} refresh={refresh} replayFrom={sequenceOf(replay)} />
        <div className="grid gap-x-8 gap-y-6 xl:grid-cols-[24rem_minmax(0,1fr)]">
          <section className="card h-fit min-w-0 p-5">
            <h2 className="mb-2 font-semibold">{w.facts.title}</h2>
            <WebhookFacts webhook={webhook} />
          </section>
          <DeliveryLog webhookId={webhook.id} />
        </div>
      </div>
    </>
  );
}

function sequenceOf(text: string | undefined): number | null {
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : null;
}

/** The condition; a failing or stopped webhook is highlighted, with its last failure. */
function How({ webhook }: { webhook: Webhook }) {
  const explain = useConditionText();
  const condition = conditionOf(webhook);
  const isBad = condition === 'stopped' || condition === 'gone';
  const tone = isBad
    ? 'bg-del-soft text-del'
    : condition === 'failing'
      ? 'bg-warn-soft text-warn'
      : '';
  const { responseStatus = null, reason = null } = webhook.lastDelivery ?? {};
  if (tone === '') return <p className="text-muted text-pretty">{explain(webhook)}</p>;
  return (
    <div role="status" className={`rounded-lg px-4 py-3 ${tone}`}>
      <p className="font-medium text-pretty">{explain(webhook)}</p>
      <p className="mt-1 text-xs">
        <Failure status={responseStatus} reason={reason} />
      </p>
    </div>
  );
}

/** The settings of a webhook; never a secret. */
function WebhookFacts({ webhook }: { webhook: Webhook }) {
  const { t, formats } = useReader();
  const w = t.webhooks;
  const { url, format, types, options, hasCredential, headerNames, nextSequence } = webhook;
  const { previousSecretValidUntil: until } = webhook;
  const { isSigned } = formatFields[format];
  return (
    <dl className="text-[0.8125rem]">
      <Fact name={w.form.url} code={url} />
      <Fact name={w.form.format}>{w.formats[format]}</Fact>
      {Object.entries(options).map(([name, value]) => (
        <Fact key={name} name={textOf(w.options, name) ?? name}>
          {textOf(w.choices, value) ?? value}
        </Fact>
      ))}
      <Fact name={w.form.types}>{types.map((type) => w.types[type]).join(', ')}</Fact>
      {types.includes('audit.events.recorded') && (
        <Fact name={t.nav.events}>
          <Criteria webhook={webhook} />
        </Fact>
      )}
      {headerNames.length > 0 && <Fact name={w.form.headers} code={headerNames.join(', ')} />}
      {hasCredential && <Fact name={w.facts.credential}>{w.facts.stored}</Fact>}
      {isSigned && (
        <Fact name={w.facts.secret}>
          {until === null ? w.facts.set : w.rotate.until({ when: formats.dateTime(until) })}
        </Fact>
      )}
      <Fact name={w.facts.next}>{formats.number(nextSequence)}</Fact>
      <Fact name={w.facts.created}>{formats.dateTime(webhook.createdAt)}</Fact>
    </dl>
  );
}

function Criteria({ webhook }: { webhook: Webhook }) {
  const w = useTexts().webhooks;
  const { stored } = useCriteriaTexts();
  const criteria = stored(webhook.filters).filter(({ facet }) => facet !== undefined);
  return criteria.length === 0 ? w.facts.all : lineOf(criteria);
}

import type { WebhookDelivery } from '@indelible/client';
import { ChevronRight, CircleCheck, CircleX } from 'lucide-react';
import { api } from '../../api.ts';
import { Fact } from '../../components/Fact.tsx';
import { LoadedList, usePages } from '../../components/paged-list.tsx';
import { textOf, useReader, useTexts } from '../../i18n/texts.tsx';
import { Failure } from './Failure.tsx';

/** Delivery attempts, newest first, page by page; a failed one shows its reason. */
export function DeliveryLog({ webhookId }: { webhookId: string }) {
  const w = useTexts().webhooks;
  const deliveries = usePages(['webhook-deliveries', webhookId], {
    list: (cursor) => api.webhooks.deliveries(webhookId, cursor),
  });
  return (
    <section aria-label={w.deliveries.title} className="min-w-0">
      <h2 className="mb-2 font-semibold">{w.deliveries.title}</h2>
      <LoadedList
        query={deliveries}
        items={deliveries.items}
        lines={6}
        none={<p className="text-muted">{w.deliveries.none}</p>}
      >
        {(delivery) => (
          <li key={delivery.id}>
            <Delivery delivery={delivery} />
          </li>
        )}
      </LoadedList>
    </section>
  );
}

function Delivery({ delivery }: { delivery: WebhookDelivery }) {
  const { t, formats } = useReader();
  const w = t.webhooks;
  const { status, attempt, responseStatus, reason } = delivery;
  const isDelivered = status === 'delivered';
  const Icon = isDelivered ? CircleCheck : CircleX;
  return (
    <details className="group">
      <summary className="flex list-none flex-wrap items-center gap-x-3 gap-y-1 px-3 py-2.5 text-[0.8125rem] hover:bg-hover">
        <ChevronRight
          aria-hidden
          className="size-3.5 shrink-0 text-faint transition-transform group-open:rotate-90"
        />
        <span className={`badge ${isDelivered ? 'badge-add' : 'badge-del'}`}>
          <Icon aria-hidden />
          {isDelivered ? w.deliveries.delivered : w.deliveries.failed}
        </span>
        <span className="min-w-28 flex-1">
          <What delivery={delivery} />
        </span>
        <span className="flex flex-wrap gap-x-3 text-xs tabular-nums max-sm:basis-full max-sm:pl-6">
          <span className="text-muted">
            {responseStatus ?? w.deliveries.noAnswer}
            {attempt > 1 && ` · ${w.deliveries.attempt({ n: attempt })}`}
          </span>
          <time dateTime={delivery.at} className="text-faint">
            {formats.dateTime(delivery.at)}
          </time>
        </span>
        {reason !== null && (
          <span className="basis-full pl-6 text-xs text-del">
            <Failure status={responseStatus} reason={reason} />
          </span>
        )}
      </summary>
      <DeliveryDetail delivery={delivery} />
    </details>
  );
}

function What({ delivery }: { delivery: WebhookDelivery }) {
  const t = useTexts();
  const w = t.webhooks;
  const { type, events } = delivery;
  if (type === 'audit.events.recorded') return t.events.count({ count: events });
  return textOf(w.types, type) ?? type;
}

function DeliveryDetail({ delivery }: { delivery: WebhookDelivery }) {
  const { t, formats } = useReader();
  const w = t.webhooks;
  const { firstSequence, lastSequence, attempt, nextAttemptAt, response } = delivery;
  return (
    <dl className="border-t border-line bg-sunken px-3 py-2 pl-9 text-xs">
      <Fact name={w.deliveries.message}>
        <span className="font-mono break-all">{delivery.messageId}</span>
        {' · '}
        {w.deliveries.attempt({ n: attempt })}
        {' · '}
        {formats.number(delivery.durationMs)} ms
      </Fact>
      {firstSequence !== null && lastSequence !== null && (
        <Fact name={t.nav.events}>
          {w.deliveries.range({ first: firstSequence, last: lastSequence })}
        </Fact>
      )}
      {nextAttemptAt !== null && (
        <Fact name={w.deliveries.next}>{formats.dateTime(nextAttemptAt)}</Fact>
      )}
      <Fact name={w.deliveries.response}>
        {response === null || response === '' ? (
          <i className="text-muted">{w.deliveries.noBody}</i>
        ) : (
          <span dir="auto" className="font-mono break-all whitespace-pre-wrap">
            {response}
          </span>
        )}
      </Fact>
    </dl>
  );
}

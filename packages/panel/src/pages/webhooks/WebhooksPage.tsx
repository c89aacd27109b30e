import type { NewWebhook, Webhook } from '@indelible/client';
import { webhooksMax } from '@indelible/protocol';
import { Plus, Webhook as WebhookIcon } from 'lucide-react';
import { useState } from 'react';
import { AppLink } from '../../components/AppLink.tsx';
import { Button } from '../../components/Button.tsx';
import { PageHead } from '../../components/PageHead.tsx';
import { LoadedList } from '../../components/paged-list.tsx';
import { Notice } from '../../components/States.tsx';
import { useReader, useTexts } from '../../i18n/texts.tsx';
import { paths } from '../../paths.ts';
import { serviceNow } from '../../service-clock.ts';
import { useSession } from '../../session/session-context.tsx';
import { useUnfinished } from '../../session/use-unfinished.ts';
import { useGo, useSearchPairs } from '../../use-location.ts';
import { SecretSheet } from './SecretSheet.tsx';
import { useWebhookList } from './use-webhooks.ts';
import { ConditionBadge, useConditionText, webhookName } from './WebhookCondition.tsx';
import { WebhookForm } from './WebhookForm.tsx';

/** The webhooks with their condition. */
export default function WebhooksPage() {
  const t = useTexts();
  const w = t.webhooks;
  const webhooks = useWebhookList();
  const isClosed = useSession().tenant.closedAt !== undefined;
  const [isAdding, setAdding] = useUnfinished('webhooks', () => false);
  const count = webhooks.data?.length ?? 0;
  const replay = new Map(useSearchPairs()).get('replay');
  const add = (
    <Button
      Icon={Plus}
      look="primary"
      disabled={isClosed || count >= webhooksMax}
      onClick={() => setAdding(true)}
    >
      {w.add}
    </Button>
  );
  return (
    <>
      <PageHead title={t.nav.webhooks} intro={w.intro} actions={count > 0 && add} />
      {isClosed && <p className="px-4 pb-3 text-muted lg:px-6">{w.closed}</p>}
      {count >= webhooksMax && (
        <p className="px-4 pb-3 text-muted lg:px-6">{w.full({ count: webhooksMax })}</p>
      )}
      {replay !== undefined && count > 0 && (
        <p
          role="note"
          className="mx-4 mb-3 rounded-lg bg-accent-soft px-4 py-2.5 text-accent lg:mx-6"
        >
          {w.replay.choose({ position: Number(replay) })}
        </p>
      )}
      <div className="mx-4 mb-10 lg:mx-6">
        <LoadedList query={webhooks} items={webhooks.data} none={<Nothing>{add}</Nothing>}>
          {(webhook) => <Row key={webhook.id} webhook={webhook} replay={replay} />}
        </LoadedList>
      </div>
      {isAdding && <Adding close={() => setAdding(false)} />}
    </>
  );
}

/** The form, then the secret (shown once), then the page of the new webhook. */
function Adding({ close }: { close: () => void }) {
  const go = useGo();
  const [made, setMade] = useState<NewWebhook | null>(null);
  const open = (webhook: NewWebhook) => go(paths.webhook(webhook.id));
  if (made?.secret !== undefined) {
    const { secret } = made;
    return <SecretSheet secret={secret} previousValidUntil={null} close={() => open(made)} />;
  }
  const saved = (webhook: NewWebhook) =>
    webhook.secret === undefined ? open(webhook) : setMade(webhook);
  return <WebhookForm webhook={null} saved={saved} close={close} />;
}

function Nothing({ children }: { children: React.ReactNode }) {
  const w = useTexts().webhooks;
  return (
    <Notice title={w.empty.title} Icon={WebhookIcon}>
      <p>{w.empty.text}</p>
      <ul className="my-4 list-disc space-y-1 pl-5 text-left">
        {[w.empty.signed, w.empty.streams, w.empty.recorded].map((text) => (
          <li key={text}>{text}</li>
        ))}
      </ul>
      {children}
    </Notice>
  );
}

function Row({ webhook, replay }: { webhook: Webhook; replay: string | undefined }) {
  const { t, formats } = useReader();
  const w = t.webhooks;
  const explain = useConditionText();
  const { lastDelivery, url, format, behind, id } = webhook;
  const href = paths.webhook(id, replay);
  return (
    <li className="relative px-4 py-3 text-[0.8125rem] hover:bg-hover">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <AppLink
          href={href}
          className="min-w-0 font-medium wrap-anywhere after:absolute after:inset-0 hover:underline"
        >
          {webhookName(webhook)}
        </AppLink>
        <ConditionBadge webhook={webhook} />
        {behind > 0 && (
          <span className="text-xs text-muted tabular-nums">{w.behindBy({ count: behind })}</span>
        )}
        <span className="text-xs text-faint tabular-nums max-sm:basis-full sm:ml-auto">
          {lastDelivery === null
            ? w.never
            : `${w.lastAttempt} ${formats.relative(lastDelivery.at, serviceNow())}`}
        </span>
      </div>
      <p className="mt-0.5 text-xs break-all text-muted">
        {w.formats[format]} · {url}
      </p>
      <p className="mt-0.5 text-xs text-muted">{explain(webhook)}</p>
    </li>
  );
}

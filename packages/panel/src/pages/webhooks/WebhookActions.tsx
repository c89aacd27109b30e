import type { Webhook } from '@indelible/client';
import { useMutation } from '@tanstack/react-query';
import { KeyRound, Pause, Pencil, Play, Repeat, RotateCw, Send, Trash2 } from 'lucide-react';
import { lazy, Suspense, useState } from 'react';
import { client } from '../../api.ts';
import { errorText } from '../../components/States.tsx';
import { useTexts } from '../../i18n/texts.tsx';
import { paths } from '../../paths.ts';
import { useGo } from '../../use-location.ts';
import { conditionOf } from './condition.ts';
import { formatFields } from './formats.ts';
import { useWebhookChange } from './use-webhooks.ts';
import { webhookName } from './WebhookCondition.tsx';
import { WebhookTestResult } from './WebhookTestResult.tsx';

const WebhookForm = lazy(() => import('./WebhookForm.tsx'));
const SecretSheet = lazy(() => import('./SecretSheet.tsx'));
const ReplaySheet = lazy(() => import('./ReplaySheet.tsx'));
const ConfirmSheet = lazy(() => import('./ConfirmSheet.tsx'));

type Dialog = 'edit' | 'rotate' | 'replay' | 'remove';

interface WebhookActionsProps {
  webhook: Webhook;
  refresh: () => void;
  /** From which number on an event wants to be sent again; null for none. */
  replayFrom: number | null;
}

/** What can be done with an endpoint, and what came of it. */
export function WebhookActions({ webhook, refresh, replayFrom }: WebhookActionsProps) {
  const t = useTexts();
  const w = t.webhooks;
  const { id } = webhook;
  const [open, setOpen] = useState<Dialog | null>(replayFrom === null ? null : 'replay');
  const test = useWebhookChange(() => client.webhooks.test(id));
  const pause = useWebhookChange(() => client.webhooks.pause(id));
  const resume = useWebhookChange(() => client.webhooks.resume(id));
  const isFailing = conditionOf(webhook) === 'failing';
  const failed = test.error ?? pause.error ?? resume.error;
  const testing = test.isPending ? w.test.sending : w.test.button;
  return (
    <section className="no-print space-y-3">
      <div className="flex flex-wrap gap-1.5">
        <Doer label={testing} Icon={Send} change={test} />
        {(webhook.status === 'paused' || isFailing) && (
          <Doer label={isFailing ? w.tryNow : w.resume} Icon={Play} change={resume} isPrimary />
        )}
        {webhook.status === 'active' && <Doer label={w.pause} Icon={Pause} change={pause} />}
        <Opener label={w.edit} Icon={Pencil} open={() => setOpen('edit')} />
        <Opener label={w.replay.button} Icon={Repeat} open={() => setOpen('replay')} />
        {formatFields[webhook.format].isSigned && (
          <Opener label={w.rotate.button} Icon={KeyRound} open={() => setOpen('rotate')} />
        )}
        <Opener label={w.remove.button} Icon={Trash2} open={() => setOpen('remove')} />
        <button
          type="button"
          className="btn btn-quiet icon-btn"
          aria-label={t.buttons.refresh}
          title={t.buttons.refresh}
          onClick={refresh}
        >
          <RotateCw aria-hidden />
        </button>
      </div>
      {test.data && <WebhookTestResult result={test.data} format={webhook.format} />}
      {failed !== null && (
        <p role="alert" className="text-del">
          {errorText(failed, t)}
        </p>
      )}
      <Dialogs open={open} webhook={webhook} replayFrom={replayFrom} close={() => setOpen(null)} />
    </section>
  );
}

interface DialogsProps {
  open: Dialog | null;
  webhook: Webhook;
  replayFrom: number | null;
  close: () => void;
}

function Dialogs({ open, webhook, replayFrom, close }: DialogsProps) {
  return (
    <Suspense>
      {open === 'edit' && <WebhookForm webhook={webhook} saved={close} close={close} />}
      {open === 'replay' && <ReplaySheet webhook={webhook} from={replayFrom} close={close} />}
      {open === 'rotate' && <Rotate webhook={webhook} close={close} />}
      {open === 'remove' && <Remove webhook={webhook} close={close} />}
    </Suspense>
  );
}

interface DoerProps {
  label: string;
  Icon: typeof Send;
  change: { isPending: boolean; mutate: (input: undefined) => void };
  isPrimary?: boolean;
}

/** Does it at once. */
function Doer({ label, Icon, change, isPrimary = false }: DoerProps) {
  return (
    <button
      type="button"
      className={`btn ${isPrimary ? 'btn-primary' : ''}`}
      disabled={change.isPending}
      onClick={() => change.mutate(undefined)}
    >
      <Icon aria-hidden />
      {label}
    </button>
  );
}

/** Asks first. */
function Opener(props: { label: string; Icon: typeof Send; open: () => void }) {
  return (
    <button type="button" className="btn" aria-haspopup="dialog" onClick={props.open}>
      <props.Icon aria-hidden />
      {props.label}
    </button>
  );
}

interface DialogProps {
  webhook: Webhook;
  close: () => void;
}

function Rotate({ webhook, close }: DialogProps) {
  const w = useTexts().webhooks;
  const rotate = useWebhookChange(() => client.webhooks.rotateSecret(webhook.id));
  if (rotate.data) return <SecretSheet {...rotate.data} close={close} />;
  return (
    <ConfirmSheet
      title={w.rotate.title}
      confirm={w.rotate.confirm}
      isBusy={rotate.isPending}
      error={rotate.error}
      go={() => rotate.mutate(undefined)}
      close={close}
    >
      <p className="text-muted text-pretty">
        {w.rotate.text} {webhook.previousSecretValidUntil !== null && w.rotate.again}
      </p>
    </ConfirmSheet>
  );
}

function Remove({ webhook, close }: DialogProps) {
  const w = useTexts().webhooks;
  const go = useGo();
  // Nothing is asked for again: what this page shows is gone.
  const remove = useMutation({ mutationFn: () => client.webhooks.remove(webhook.id) });
  return (
    <ConfirmSheet
      title={w.remove.title(webhookName(webhook))}
      confirm={w.remove.confirm}
      isDanger
      isBusy={remove.isPending}
      error={remove.error}
      go={() => remove.mutate(undefined, { onSuccess: () => go(paths.webhooks) })}
      close={close}
    >
      <p className="text-muted text-pretty">{w.remove.text}</p>
    </ConfirmSheet>
  );
}

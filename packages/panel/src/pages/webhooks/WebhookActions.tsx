import type { Webhook, WebhookFormat, WebhookTest } from '@indelible/client';
import { revealed } from '@indelible/protocol';
import { useMutation } from '@tanstack/react-query';
import {
  KeyRound,
  type LucideIcon,
  Pause,
  Pencil,
  Play,
  Repeat,
  RotateCw,
  Send,
  SkipForward,
  Trash2,
} from 'lucide-react';
import { client } from '../../api.ts';
import { Button, IconButton } from '../../components/Button.tsx';
import { ConfirmSheet } from '../../components/Sheet.tsx';
import { ActionError } from '../../components/States.tsx';
import { Verdict } from '../../components/Verdict.tsx';
import { useReader, useTexts } from '../../i18n/texts.tsx';
import { paths } from '../../paths.ts';
import { useUnfinished } from '../../session/use-unfinished.ts';
import { useGo } from '../../use-location.ts';
import { conditionOf } from './condition.ts';
import { Failure } from './Failure.tsx';
import { formatFields } from './formats.ts';
import { ReplaySheet } from './ReplaySheet.tsx';
import { SecretSheet } from './SecretSheet.tsx';
import { SkipSheet } from './SkipSheet.tsx';
import { useWebhookChange } from './use-webhooks.ts';
import { webhookName } from './WebhookCondition.tsx';
import { WebhookForm } from './WebhookForm.tsx';

type Dialog = 'edit' | 'rotate' | 'replay' | 'skip' | 'remove';

interface WebhookActionsProps {
  webhook: Webhook;
  refresh: () => void;
  /** The position of a replay link; null if there is none. */
  replayFrom: number | null;
}

/** The actions on a webhook, and their results. */
export function WebhookActions({ webhook, refresh, replayFrom }: WebhookActionsProps) {
  const t = useTexts();
  const w = t.webhooks;
  const { id } = webhook;
  const [open, setOpen] = useUnfinished<Dialog | null>(`webhook ${id} open`, () =>
    replayFrom === null ? null : 'replay',
  );
  const close = () => setOpen(null);
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
          <Doer
            label={isFailing ? w.tryNow : w.resume}
            Icon={Play}
            change={resume}
            look="primary"
          />
        )}
        {webhook.status === 'active' && <Doer label={w.pause} Icon={Pause} change={pause} />}
        <Opener label={w.edit} Icon={Pencil} open={() => setOpen('edit')} />
        <Opener label={w.replay.button} Icon={Repeat} open={() => setOpen('replay')} />
        {(webhook.status === 'paused' || isFailing) && (
          <Opener label={w.skip.button} Icon={SkipForward} open={() => setOpen('skip')} />
        )}
        {formatFields[webhook.format].isSigned && (
          <Opener label={w.rotate.button} Icon={KeyRound} open={() => setOpen('rotate')} />
        )}
        <Opener label={t.buttons.delete} Icon={Trash2} open={() => setOpen('remove')} />
        <IconButton label={t.buttons.refresh} Icon={RotateCw} onClick={refresh} />
      </div>
      {test.data && <WebhookTestResult result={test.data} format={webhook.format} />}
      <ActionError error={failed} className="" />
      {open === 'edit' && <WebhookForm webhook={webhook} saved={close} close={close} />}
      {open === 'replay' && <ReplaySheet webhook={webhook} from={replayFrom} close={close} />}
      {open === 'skip' && <SkipSheet webhook={webhook} close={close} />}
      {open === 'rotate' && <Rotate webhook={webhook} close={close} />}
      {open === 'remove' && <Remove webhook={webhook} close={close} />}
    </section>
  );
}

interface DoerProps {
  label: string;
  Icon: LucideIcon;
  change: { isPending: boolean; mutate: (input: undefined) => void };
  look?: 'primary';
}

/** Acts without a confirmation. */
function Doer({ change, label, ...rest }: DoerProps) {
  return (
    <Button disabled={change.isPending} onClick={() => change.mutate(undefined)} {...rest}>
      {label}
    </Button>
  );
}

/** Opens a dialog that confirms. */
function Opener(props: { label: string; Icon: LucideIcon; open: () => void }) {
  return (
    <Button Icon={props.Icon} aria-haspopup="dialog" onClick={props.open}>
      {props.label}
    </Button>
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
      action={rotate}
      done={() => {}} // it shows the secret
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
  // Without reloading the queries: what this page shows no longer exists.
  const remove = useMutation({ mutationFn: () => client.webhooks.remove(webhook.id) });
  return (
    <ConfirmSheet
      title={w.remove.title({ name: webhookName(webhook) })}
      confirm={w.remove.confirm}
      isDanger
      action={remove}
      done={() => go(paths.webhooks)}
      close={close}
    >
      <p className="text-muted text-pretty">{w.remove.text}</p>
    </ConfirmSheet>
  );
}

interface TestResultProps {
  result: WebhookTest;
  format: WebhookFormat;
}

/** Whether a test worked, and what the receiver answered. */
function WebhookTestResult({ result, format }: TestResultProps) {
  const { t, formats } = useReader();
  const w = t.webhooks;
  const { ok, status, reason, response, durationMs } = result;
  // The test of a log platform asks for its health, which may answer with a 4xx status.
  const { isSigned } = formatFields[format];
  const works = isSigned
    ? w.test.ok({ status: status === null ? '' : String(status) })
    : w.test.healthy;
  return (
    <Verdict
      look={ok ? 'good' : 'bad'}
      title={ok ? works : w.test.failed}
      aside={`${status ?? w.test.noAnswer} · ${formats.number(durationMs)} ms`}
    >
      <Failure status={status} reason={reason} />
      {response !== null && response !== '' && (
        <div className="text-xs">
          <p className="font-medium">{w.test.answer}</p>
          <pre dir="auto" className="mt-0.5 font-mono break-all whitespace-pre-wrap">
            {revealed(response)}
          </pre>
        </div>
      )}
    </Verdict>
  );
}

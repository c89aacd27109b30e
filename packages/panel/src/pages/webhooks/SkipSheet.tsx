import type { Webhook } from '@indelible/client';
import { client } from '../../api.ts';
import { TextField } from '../../components/fields.tsx';
import { ConfirmSheet } from '../../components/Sheet.tsx';
import { useTexts } from '../../i18n/texts.tsx';
import { useUnfinished } from '../../session/use-unfinished.ts';
import { useWebhookChange } from './use-webhooks.ts';

interface SkipSheetProps {
  webhook: Webhook;
  close: () => void;
}

/** Passes events that the receiver never accepts: those of the message that failed last. */
export function SkipSheet({ webhook, close }: SkipSheetProps) {
  const w = useTexts().webhooks;
  const { id, nextSequence, behind, lastDelivery } = webhook;
  const [min, max] = [nextSequence + 1, nextSequence + behind];
  const failed = lastDelivery?.status === 'failed' ? (lastDelivery.lastSequence ?? null) : null;
  const [text, setText] = useUnfinished(`skip ${id}`, () =>
    String(Math.min(Math.max(failed === null ? min : failed + 1, min), Math.max(min, max))),
  );
  const [reason, setReason] = useUnfinished(`skip ${id} reason`, () => '');
  const to = /^\d{1,15}$/.test(text.trim()) ? Number(text.trim()) : 0;
  const skip = useWebhookChange(() => client.webhooks.skip(id, to, reason.trim()));
  return (
    <ConfirmSheet
      title={w.skip.title}
      confirm={w.skip.confirm}
      action={skip}
      isDanger
      isReady={to >= min && to <= max && reason.trim() !== ''}
      close={close}
    >
      <p className="mb-4 text-muted text-pretty">{w.skip.text}</p>
      <TextField
        label={w.skip.toward}
        hint={behind > 0 ? w.skip.towardHint({ min, max }) : w.skip.none}
        inputMode="numeric"
        autoComplete="off"
        className="tabular-nums"
        value={text}
        change={setText}
      />
      <TextField label={w.skip.reason} maxLength={1000} value={reason} change={setReason} />
    </ConfirmSheet>
  );
}

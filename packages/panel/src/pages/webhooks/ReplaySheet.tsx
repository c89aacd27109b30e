import type { Webhook } from '@indelible/client';
import { client } from '../../api.ts';
import { TextField } from '../../components/fields.tsx';
import { ConfirmSheet } from '../../components/Sheet.tsx';
import { useTexts } from '../../i18n/texts.tsx';
import { useUnfinished } from '../../session/use-unfinished.ts';
import { useWebhookChange } from './use-webhooks.ts';

interface ReplaySheetProps {
  webhook: Webhook;
  /** The first position, if a link from an event named it. */
  from: number | null;
  close: () => void;
}

/** Replays from a position in the log, after explaining what is sent. */
export function ReplaySheet({ webhook, from, close }: ReplaySheetProps) {
  const w = useTexts().webhooks;
  const { nextSequence, behind } = webhook;
  const last = Math.max(0, nextSequence - 1);
  const [text, setText] = useUnfinished(`replay ${webhook.id}`, () =>
    from === null ? '' : String(Math.min(from, last)),
  );
  const fromSequence = /^\d{1,15}$/.test(text.trim()) ? Number(text.trim()) : null;
  const isReady = fromSequence !== null && fromSequence <= last && nextSequence > 0;
  const replay = useWebhookChange(() => client.webhooks.replay(webhook.id, fromSequence ?? last));
  const entries = nextSequence + behind - (fromSequence ?? 0);
  return (
    <ConfirmSheet
      title={w.replay.title}
      confirm={w.replay.confirm}
      action={replay}
      isReady={isReady}
      close={close}
    >
      <p className="mb-4 text-muted text-pretty">{w.replay.text}</p>
      <TextField
        label={w.replay.from}
        hint={w.replay.fromHint({ max: last })}
        inputMode="numeric"
        autoComplete="off"
        className="tabular-nums"
        value={text}
        change={setText}
      />
      <p role="status" className="mt-3 text-pretty">
        {w.replay.now({ position: nextSequence })} {isReady && w.replay.again({ count: entries })}
      </p>
    </ConfirmSheet>
  );
}

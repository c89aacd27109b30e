import { KeyRound } from 'lucide-react';
import { Button } from '../../components/Button.tsx';
import { CopyButton } from '../../components/CopyButton.tsx';
import { Sheet } from '../../components/Sheet.tsx';
import { useReader } from '../../i18n/texts.tsx';

interface SecretSheetProps {
  secret: string;
  /** Until when the previous secret also signs; null when there is none. */
  previousValidUntil: string | null;
  close: () => void;
}

/** A new signing secret, shown once: only the confirmation closes the dialog. */
export function SecretSheet({ secret, previousValidUntil, close }: SecretSheetProps) {
  const { t, formats } = useReader();
  const w = t.webhooks;
  return (
    <Sheet title={w.secret.title} close={close} dismissable={false}>
      <p className="flex gap-2 text-pretty">
        <KeyRound aria-hidden className="mt-0.5 size-4 shrink-0 text-warn" />
        {w.secret.once}
      </p>
      <div className="mt-3 flex items-center gap-2 rounded-lg bg-sunken py-2 pr-2 pl-3">
        <code className="min-w-0 flex-1 font-mono text-xs break-all select-all">{secret}</code>
        <CopyButton text={secret} label={w.secret.copy} />
      </div>
      {previousValidUntil !== null && (
        <p className="mt-3 text-muted text-pretty">
          {w.secret.previous({ when: formats.dateTime(previousValidUntil) })}
        </p>
      )}
      <div className="mt-5 flex justify-end">
        <Button look="primary" onClick={close}>
          {w.secret.stored}
        </Button>
      </div>
    </Sheet>
  );
}

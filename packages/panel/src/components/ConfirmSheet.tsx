import type { ReactNode } from 'react';
import { useTexts } from '../i18n/texts.tsx';
import { Button } from './Button.tsx';
import { Sheet } from './Sheet.tsx';
import { ActionError } from './States.tsx';

interface ConfirmSheetProps {
  title: string;
  /** The consequence of confirming, or what is filled in. */
  children: ReactNode;
  /** Beside the buttons. */
  note?: string | false;
  width?: string;
  confirm: string;
  isBusy: boolean;
  error: unknown;
  isDanger?: boolean;
  /** Whether the input is complete. */
  isReady?: boolean;
  go: () => void;
  close: () => void;
}

/** A dialog that names the consequence, and acts when the reader confirms. */
export default function ConfirmSheet(props: ConfirmSheetProps) {
  const { title, children, note, confirm, isBusy, error, isReady = true } = props;
  const { width = 'max-w-lg', isDanger = false } = props;
  const t = useTexts();
  return (
    <Sheet title={title} close={props.close} dismissable={!isBusy} width={width}>
      <form
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          props.go();
        }}
      >
        {children}
        <ActionError error={error} />
        <div className="mt-5 flex flex-wrap items-center justify-end gap-2">
          {note && <p className="mr-auto text-xs text-muted text-pretty">{note}</p>}
          <Button disabled={isBusy} onClick={props.close}>
            {t.buttons.cancel}
          </Button>
          <Button
            type="submit"
            look={isDanger ? 'danger' : 'primary'}
            disabled={isBusy || !isReady}
          >
            {confirm}
          </Button>
        </div>
      </form>
    </Sheet>
  );
}

import type { ReactNode } from 'react';
import { Sheet } from '../../components/Sheet.tsx';
import { errorText } from '../../components/States.tsx';
import { useTexts } from '../../i18n/texts.tsx';

interface ConfirmSheetProps {
  title: string;
  /** What it means to go on. */
  children: ReactNode;
  confirm: string;
  isBusy: boolean;
  error: unknown;
  isDanger?: boolean;
  /** Whether what was entered is enough to go on. */
  isReady?: boolean;
  go: () => void;
  close: () => void;
}

/** Says what is about to happen, and does it only when it is told to. */
export default function ConfirmSheet(props: ConfirmSheetProps) {
  const { title, children, confirm, isBusy, error, isDanger = false, isReady = true } = props;
  const t = useTexts();
  return (
    <Sheet title={title} close={props.close} dismissable={!isBusy}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          props.go();
        }}
      >
        {children}
        {error !== null && error !== undefined && (
          <p role="alert" className="mt-3 text-del">
            {errorText(error, t)}
          </p>
        )}
        <div className="mt-5 flex justify-end gap-2">
          <button type="button" className="btn" disabled={isBusy} onClick={props.close}>
            {t.buttons.cancel}
          </button>
          <button
            type="submit"
            className={`btn ${isDanger ? 'btn-danger' : 'btn-primary'}`}
            disabled={isBusy || !isReady}
          >
            {confirm}
          </button>
        </div>
      </form>
    </Sheet>
  );
}

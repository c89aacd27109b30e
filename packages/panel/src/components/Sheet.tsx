import { revealed } from '@indelible/protocol';
import { type ReactNode, useEffect, useRef } from 'react';
import { Dialog, Heading, Modal, ModalOverlay } from 'react-aria-components';
import { useTexts } from '../i18n/texts.tsx';
import { Button } from './Button.tsx';
import { ActionError } from './States.tsx';

interface SheetProps {
  title: string;
  close: () => void;
  /** Whether Escape or a click outside closes it; not during an action. */
  dismissable?: boolean;
  width?: string;
  children: ReactNode;
}

/** A dialog over the page. */
export function Sheet({ title, close, children, ...rest }: SheetProps) {
  const { dismissable = true, width = 'max-w-lg' } = rest;
  return (
    <ModalOverlay
      isOpen
      isDismissable={dismissable}
      isKeyboardDismissDisabled={!dismissable}
      onOpenChange={(isOpen) => !isOpen && close()}
      className="scrim items-start overflow-auto pt-[10vh]"
    >
      <Modal className={`pop w-full ${width} p-0`}>
        <Dialog className="outline-none">
          <Heading
            slot="title"
            className="px-5 pt-4 text-base font-semibold text-balance wrap-anywhere"
          >
            {revealed(title)}
          </Heading>
          <div className="px-5 pt-2 pb-5">{children}</div>
        </Dialog>
      </Modal>
    </ModalOverlay>
  );
}

interface ConfirmSheetProps<Answer> {
  title: string;
  /** The consequence of confirming, or what is filled in. */
  children: ReactNode;
  /** Beside the buttons. */
  note?: string | false;
  width?: string;
  confirm: string;
  /** What confirming does: a mutation. Then `done` is called, or else the dialog closed. */
  action: {
    isPending: boolean;
    error: unknown;
    mutate: (input: undefined, after: { onSuccess: (answer: Answer) => void }) => void;
  };
  done?: (answer: Answer) => void;
  isDanger?: boolean;
  /** Whether the input is complete. */
  isReady?: boolean;
  close: () => void;
}

/** Names the consequence, begins in its first field, and acts when the reader confirms. */
export function ConfirmSheet<Answer>(props: ConfirmSheetProps<Answer>) {
  const { title, children, note, confirm, isReady = true } = props;
  const { isPending: isBusy, error, mutate } = props.action;
  const { width = 'max-w-lg', isDanger = false } = props;
  const t = useTexts();
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => form.current?.querySelector<HTMLElement>('input, select')?.focus(), []);
  return (
    <Sheet title={title} close={props.close} dismissable={!isBusy} width={width}>
      <form
        ref={form}
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          if (isReady) mutate(undefined, { onSuccess: props.done ?? props.close });
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

interface RemoveSheetProps {
  title: string;
  text: string;
  action: ConfirmSheetProps<unknown>['action'];
  close: () => void;
}

export function RemoveSheet({ text, ...sheet }: RemoveSheetProps) {
  const { buttons } = useTexts();
  return (
    <ConfirmSheet confirm={buttons.delete} isDanger {...sheet}>
      <p className="text-muted text-pretty">{text}</p>
    </ConfirmSheet>
  );
}

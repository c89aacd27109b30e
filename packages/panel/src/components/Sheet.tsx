import { revealed } from '@indelible/protocol';
import type { ReactNode } from 'react';
import { Dialog, Heading, Modal, ModalOverlay } from 'react-aria-components';

interface SheetProps {
  title: string;
  close: () => void;
  /** Whether Escape or a click outside closes it; not during an action. */
  dismissable?: boolean;
  width?: string;
  children: ReactNode;
}

/** A dialog over the page. */
export function Sheet({
  title,
  close,
  dismissable = true,
  width = 'max-w-lg',
  children,
}: SheetProps) {
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

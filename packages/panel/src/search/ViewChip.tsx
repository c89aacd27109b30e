import { Columns3 } from 'lucide-react';
import { lazy, Suspense, useRef, useState } from 'react';
import { Button } from '../components/Button.tsx';
import { useTexts } from '../i18n/texts.tsx';

const ViewPicker = lazy(() => import('./ViewPicker.tsx'));

/** Opens the choice of columns and density. */
export function ViewChip() {
  const t = useTexts();
  const [isOpen, setOpen] = useState(false);
  const anchor = useRef<HTMLSpanElement>(null);
  return (
    <span ref={anchor} className="no-print">
      <Button
        Icon={Columns3}
        look="quiet"
        aria-haspopup="dialog"
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
      >
        <span className="max-sm:sr-only">{t.view.label}</span>
      </Button>
      <Suspense>{isOpen && <ViewPicker anchor={anchor} close={() => setOpen(false)} />}</Suspense>
    </span>
  );
}

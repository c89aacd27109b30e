import { ChevronDown } from 'lucide-react';
import { useState } from 'react';
import { useTexts } from '../i18n/texts.tsx';
import { Button } from './Button.tsx';

/** The first `step` of a list; `more` shows as many again. */
export function useShown<Item>(items: readonly Item[], step: number) {
  const [count, setCount] = useState(step);
  const more = { left: Math.max(0, items.length - count), show: () => setCount(count + step) };
  return { shown: items.slice(0, count), more };
}

export function MoreButton({ left, show }: { left: number; show: () => void }) {
  const t = useTexts();
  if (left === 0) return null;
  return (
    <Button className="no-print mt-3" Icon={ChevronDown} onClick={show}>
      {t.sensitiveAccess.more({ count: left })}
    </Button>
  );
}

import { ArrowUp, Radio } from 'lucide-react';
import { Button } from '../../components/Button.tsx';
import { useTexts } from '../../i18n/texts.tsx';
import type { useTail } from '../../search/use-tail.ts';

export interface Live {
  tail: ReturnType<typeof useTail>;
  isLive: boolean;
  setLive: (isLive: boolean) => void;
}

/**
 * New events either wait behind a button, so that nothing moves while it is read, or appear on top
 * as they are recorded.
 */
export function LiveSwitch({ live, reload }: { live: Live; reload: () => void }) {
  const t = useTexts();
  const { tail, isLive, setLive } = live;
  if (tail === null) return null;
  const count = tail.events.length;
  return (
    <div className="no-print flex items-center gap-2">
      <Button
        Icon={Radio}
        look="quiet"
        className="aria-pressed:bg-accent-soft aria-pressed:text-accent"
        aria-pressed={isLive}
        title={t.live.hint}
        onClick={() => setLive(!isLive)}
      >
        {t.live.label}
      </Button>
      <div role="status">
        {isLive && tail.isError && <span className="text-warn">{t.live.lost}</span>}
        {count > 0 && isLive && <span className="sr-only">{t.live.count({ count })}</span>}
        {count > 0 && !isLive && (
          <Button Icon={ArrowUp} className="rounded-full" onClick={reload}>
            {t.live.count({ count })}
          </Button>
        )}
      </div>
    </div>
  );
}

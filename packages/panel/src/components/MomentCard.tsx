import { formatTimestamp } from '@indelible/protocol';
import { type RefObject, useEffect, useLayoutEffect, useRef } from 'react';
import { formatsOf } from '../i18n/formats.ts';
import { useLanguage, useReader } from '../i18n/texts.tsx';
import { serviceNow } from '../service-clock.ts';
import { CopyButton } from './CopyButton.tsx';

interface MomentCardProps {
  anchor: RefObject<HTMLElement | null>;
  ms: number;
  close: () => void;
}

/**
 * One time in several formats, each with a copy button. Opens on hover, so it takes no focus; the
 * event's detail shows the same for keyboards.
 */
export default function MomentCard({ anchor, ms, close }: MomentCardProps) {
  const card = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const from = anchor.current?.getBoundingClientRect();
    if (from === undefined || card.current === null) return;
    const { style, offsetHeight } = card.current;
    const below = from.bottom + 4 + offsetHeight < window.innerHeight;
    style.left = `${Math.max(8, from.left)}px`;
    style.top = `${below ? from.bottom + 2 : from.top - offsetHeight - 2}px`;
  }, [anchor]);
  useClosing(anchor, card, close);
  return (
    <div ref={card} className="pop fixed z-30">
      <Moments ms={ms} />
    </div>
  );
}

/** Closes on Escape, on scrolling, and soon after the pointer left anchor and card. */
function useClosing(
  anchor: RefObject<HTMLElement | null>,
  card: RefObject<HTMLElement | null>,
  close: () => void,
): void {
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const move = ({ target }: PointerEvent) => {
      const inside =
        target instanceof Node &&
        (card.current?.contains(target) || anchor.current?.contains(target));
      if (inside) clearTimeout(timer);
      timer = inside ? undefined : (timer ?? setTimeout(close, 200));
    };
    const press = ({ key }: KeyboardEvent) => key === 'Escape' && close();
    const ended = new AbortController();
    const { signal } = ended;
    window.addEventListener('pointermove', move, { signal });
    window.addEventListener('keydown', press, { signal });
    window.addEventListener('scroll', close, { signal, capture: true });
    return () => {
      clearTimeout(timer);
      ended.abort();
    };
  }, [anchor, card, close]);
}

/** The moment in the page's zone, UTC, this device's zone, relative, and as epoch milliseconds. */
export function Moments({ ms }: { ms: number }) {
  const { t, formats } = useReader();
  const language = useLanguage();
  const local = formatsOf(language, Intl.DateTimeFormat().resolvedOptions().timeZone);
  const lines = [
    [formats.timeZone.replaceAll('_', ' '), formats.exact(ms)],
    ['ISO 8601', formatTimestamp(ms)],
    [t.zone.local, local.exact(ms)],
    [t.detail.relative, formats.relative(ms, serviceNow())],
    [t.detail.epoch, String(ms)],
  ] as const;
  return (
    <dl className="grid grid-cols-[auto_1fr] items-center gap-x-4 px-1.5 text-xs">
      {lines.map(([name, text]) => (
        <div key={name} className="contents">
          <dt className="text-faint">{name}</dt>
          <dd className="flex items-center justify-between gap-2 tabular-nums">
            {text}
            <CopyButton text={text} label={`${t.buttons.copy}: ${name}`} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

import { type ReactNode, useLayoutEffect, useRef } from 'react';

interface ScrollRegionProps {
  label: string;
  className?: string;
  /** Begins at its right end: where what matters most is the latest. */
  fromEnd?: boolean;
  children: ReactNode;
}

/** A part of a page that scrolls by itself, and so has to be reachable by keyboard. */
export function ScrollRegion(props: ScrollRegionProps) {
  const { label, className = '', fromEnd = false, children } = props;
  const region = useRef<HTMLElement>(null);
  useLayoutEffect(() => {
    if (fromEnd && region.current) region.current.scrollLeft = region.current.scrollWidth;
  }, [fromEnd]);
  return (
    <section
      ref={region}
      aria-label={label}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: arrow keys scroll what has the focus
      tabIndex={0}
      className={`relative overflow-auto ${className}`}
    >
      {children}
    </section>
  );
}

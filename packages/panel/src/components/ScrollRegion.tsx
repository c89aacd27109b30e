import { type ReactNode, useLayoutEffect, useRef } from 'react';

interface ScrollRegionProps {
  label: string;
  className?: string;
  /** Starts at its right end, where the latest data is. */
  fromEnd?: boolean;
  children: ReactNode;
}

/** A part of a page that scrolls by itself, so the keyboard must be able to reach it. */
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

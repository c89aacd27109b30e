import type { ReactNode } from 'react';

interface ScrollRegionProps {
  label: string;
  className?: string;
  children: ReactNode;
}

/** A part of a page that scrolls by itself, and so has to be reachable by keyboard. */
export function ScrollRegion({ label, className = '', children }: ScrollRegionProps) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: arrow keys scroll what has the focus
    <section aria-label={label} tabIndex={0} className={`relative overflow-auto ${className}`}>
      {children}
    </section>
  );
}

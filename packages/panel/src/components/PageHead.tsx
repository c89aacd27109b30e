import { revealed } from '@indelible/protocol';
import type { ReactNode } from 'react';

interface PageHeadProps {
  title: string;
  intro?: string;
  /** Beside the title. */
  aside?: ReactNode;
  actions?: ReactNode;
  /** Below, such as filters. */
  children?: ReactNode;
}

/** A page's title, introduction and actions. */
export function PageHead({ title, intro, aside, actions, children }: PageHeadProps) {
  return (
    <div className="px-4 pt-5 pb-3 lg:px-6">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-2">
        <h1 dir="auto" className="min-w-0 text-xl font-semibold tracking-tight wrap-anywhere">
          {revealed(title)}
        </h1>
        {aside}
        {actions && <div className="no-print ml-auto flex flex-wrap gap-1.5">{actions}</div>}
      </div>
      {intro && <p className="prose-text mt-1.5">{intro}</p>}
      {children && <div className="mt-3">{children}</div>}
    </div>
  );
}

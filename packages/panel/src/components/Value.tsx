import type { ReactNode } from 'react';
import type { FacetValue } from './ValueMenu.tsx';
import { useMenus } from './ValueMenuProvider.tsx';

interface ValueProps extends FacetValue {
  /** Default: its label. */
  children?: ReactNode;
  className?: string;
  /** Whether Tab stops here; in a list only the current row's values do. */
  tabbable?: boolean;
}

/** A value that can be filtered by, as a button that opens its menu. */
export function Value({ children, className = '', tabbable = true, ...value }: ValueProps) {
  const { openMenu } = useMenus();
  return (
    <button
      type="button"
      className={`value above ${className}`}
      aria-haspopup="menu"
      tabIndex={tabbable ? 0 : -1}
      onClick={(event) => openMenu(event.currentTarget, value)}
    >
      {children ?? value.label}
    </button>
  );
}

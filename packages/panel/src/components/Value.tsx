import {
  createContext,
  lazy,
  type ReactNode,
  type RefObject,
  Suspense,
  useCallback,
  useContext,
  useRef,
  useState,
} from 'react';
import type { FacetValue } from './ValueMenu.tsx';

interface ValueProps extends FacetValue {
  /** Default: its label. */
  children?: ReactNode;
  className?: string;
}

/** Whether Tab stops at the values below; in a list only at those of the current row. */
export const TabStops = createContext(true);

/** A value that can be filtered by, as a button that opens its menu. */
export function Value({ children, className = '', ...value }: ValueProps) {
  const isStop = useContext(TabStops);
  const { openMenu } = useMenus();
  return (
    <button
      type="button"
      className={`value above ${className}`}
      aria-haspopup="menu"
      tabIndex={isStop ? 0 : -1}
      onClick={(event) => openMenu(event.currentTarget, value)}
    >
      {children ?? value.label}
    </button>
  );
}

const ValueMenu = lazy(() => import('./ValueMenu.tsx'));
const MomentCard = lazy(() => import('./MomentCard.tsx'));

interface Menus {
  openMenu(anchor: HTMLElement, value: FacetValue): void;
  openMoment(anchor: HTMLElement, ms: number): void;
}

const MenusContext = createContext<Menus>({ openMenu: () => {}, openMoment: () => {} });

export function useMenus(): Menus {
  return useContext(MenusContext);
}

type Open = { kind: 'value'; value: FacetValue } | { kind: 'moment'; ms: number };

/** One menu and one card for all values of a page, fetched when the first of them is opened. */
export function ValueMenuProvider({ children }: { children: ReactNode }) {
  const [open, setOpen] = useState<Open | null>(null);
  const anchor = useRef<HTMLElement>(null);
  const openMenu = useCallback((element: HTMLElement, value: FacetValue) => {
    anchor.current = element;
    setOpen({ kind: 'value', value });
  }, []);
  const openMoment = useCallback((element: HTMLElement, ms: number) => {
    anchor.current = element;
    setOpen({ kind: 'moment', ms });
  }, []);
  const close = useCallback(() => setOpen(null), []);
  const at: RefObject<HTMLElement | null> = anchor;
  return (
    <MenusContext value={{ openMenu, openMoment }}>
      {children}
      <Suspense>
        {open?.kind === 'value' && <ValueMenu anchor={at} value={open.value} close={close} />}
        {open?.kind === 'moment' && <MomentCard anchor={at} ms={open.ms} close={close} />}
      </Suspense>
    </MenusContext>
  );
}

import { LogOut, Menu, Search, X } from 'lucide-react';
import { lazy, type ReactNode, Suspense, useEffect, useMemo, useRef, useState } from 'react';
import { api } from '../api.ts';
import { useTexts } from '../i18n/texts.tsx';
import { navigationFor } from '../pages/registry.ts';
import { useSession } from '../session/session-context.tsx';
import { useGo, usePath } from '../use-location.ts';
import { DisplaySettings } from './DisplaySettings.tsx';
import { Mark } from './Mark.tsx';
import { Navigation } from './Navigation.tsx';
import { OperatorBanner } from './OperatorBanner.tsx';
import { PrintHeader } from './PrintHeader.tsx';
import { TenantLeft } from './TenantLeft.tsx';
import { usePrint } from './use-printing.ts';
import { useShortcuts } from './use-shortcuts.ts';

const Palette = lazy(() => import('./Palette.tsx'));
const ShortcutHelp = lazy(() => import('./ShortcutHelp.tsx'));

/** What surrounds every page: navigation, the tenant, display settings, the operator's banner. */
export function Shell({ children }: { children: ReactNode }) {
  const t = useTexts();
  const [open, setOpen] = useState<'palette' | 'help' | null>(null);
  const print = usePrint();
  const go = useGo();
  const session = useSession();
  const shortcuts = useMemo(
    () => ({
      ...Object.fromEntries(
        navigationFor(session).map(({ key, path }) => [`g ${key}`, () => go(path)]),
      ),
      '/': () => setOpen('palette'),
      'mod+k': () => setOpen('palette'),
      '?': () => setOpen('help'),
      'mod+p': print,
    }),
    [print, go, session],
  );
  useShortcuts(shortcuts);
  return (
    <div className="flex min-h-dvh flex-col lg:grid lg:grid-cols-[15rem_minmax(0,1fr)]">
      <a
        href="#content"
        className="btn btn-primary absolute top-2 left-2 z-50 -translate-y-16 focus:translate-y-0"
      >
        {t.nav.skip}
      </a>
      <Side openPalette={() => setOpen('palette')} openHelp={() => setOpen('help')} />
      <div className="flex min-w-0 flex-1 flex-col">
        <OperatorBanner />
        <TenantLeft />
        <PrintHeader />
        <main id="content" tabIndex={-1} className="min-w-0 flex-1 bg-surface outline-none">
          {children}
        </main>
      </div>
      <Suspense>
        {open === 'palette' && <Palette close={() => setOpen(null)} />}
        {open === 'help' && <ShortcutHelp close={() => setOpen(null)} />}
      </Suspense>
    </div>
  );
}

function Side({ openPalette, openHelp }: { openPalette: () => void; openHelp: () => void }) {
  const t = useTexts();
  const [unfolded, setUnfolded] = useState(false);
  const path = usePath();
  const shownFor = useRef(path);
  useEffect(() => {
    if (shownFor.current !== path) setUnfolded(false);
    shownFor.current = path;
  }, [path]);
  return (
    <header className="no-print border-b border-line bg-page lg:sticky lg:top-0 lg:flex lg:h-dvh lg:flex-col lg:border-r lg:border-b-0">
      <div className="flex items-center gap-2 px-4 py-3 lg:pt-5">
        <TenantName />
        <button
          type="button"
          className="btn btn-quiet icon-btn ml-auto lg:hidden"
          aria-label={t.nav.commands}
          onClick={openPalette}
        >
          <Search aria-hidden />
        </button>
        <button
          type="button"
          className="btn btn-quiet icon-btn lg:hidden"
          aria-label={t.nav.menu}
          aria-expanded={unfolded}
          onClick={() => setUnfolded(!unfolded)}
        >
          {unfolded ? <X aria-hidden /> : <Menu aria-hidden />}
        </button>
      </div>
      <div className={`${unfolded ? 'flex' : 'hidden'} min-h-0 flex-1 flex-col lg:flex`}>
        <div className="hidden px-3 pb-2 lg:block">
          <button
            type="button"
            className="flex h-8 w-full items-center gap-2 rounded-lg border border-line bg-surface px-2.5 text-faint hover:border-edge"
            onClick={openPalette}
          >
            <Search className="size-3.5" aria-hidden />
            <span className="truncate">{t.events.search}</span>
            <kbd className="kbd ml-auto">/</kbd>
          </button>
        </div>
        <Navigation />
        <div className="mt-auto border-t border-line p-3">
          <DisplaySettings />
          <Account openHelp={openHelp} />
        </div>
      </div>
    </header>
  );
}

function TenantName() {
  const { tenant } = useSession();
  return (
    <div className="flex min-w-0 items-center gap-2.5">
      <Mark />
      <div className="min-w-0 leading-tight">
        <p className="truncate font-semibold" title={tenant.name}>
          {tenant.name}
        </p>
        <p className="text-2xs text-faint">{tenant.plan}</p>
      </div>
    </div>
  );
}

function Account({ openHelp }: { openHelp: () => void }) {
  const t = useTexts();
  const { actor } = useSession();
  // The page is loaded anew: nothing of the tenant's may stay in memory behind a signed-out screen.
  const signOut = () => api.session.close().finally(() => location.reload());
  return (
    <div className="mt-3 flex items-center gap-1">
      <div className="min-w-0 flex-1 px-1 leading-tight">
        <p className="sr-only">{t.nav.signedInAs}</p>
        <p className="truncate text-xs" title={actor.email ?? actor.id}>
          {actor.email ?? actor.id}
        </p>
        <p className="text-2xs text-faint">{actor.role}</p>
      </div>
      <button
        type="button"
        className="btn btn-quiet icon-btn"
        aria-label={t.nav.help}
        title={t.nav.help}
        onClick={openHelp}
      >
        <kbd className="kbd">?</kbd>
      </button>
      <button
        type="button"
        className="btn btn-quiet icon-btn"
        aria-label={t.nav.signOut}
        title={t.nav.signOut}
        onClick={signOut}
      >
        <LogOut aria-hidden />
      </button>
    </div>
  );
}

import { revealed } from '@indelible/protocol';
import { DoorClosed, LogOut, Menu, Search, ShieldAlert, X } from 'lucide-react';
import { lazy, type ReactNode, Suspense, useEffect, useMemo, useRef, useState } from 'react';
import { api } from '../api.ts';
import { IconButton } from '../components/Button.tsx';
import { ValueMenuProvider } from '../components/Value.tsx';
import { roleText, useReader, useTexts } from '../i18n/texts.tsx';
import { navigationFor } from '../pages/registry.ts';
import { usePreferences } from '../preferences.ts';
import { useSession } from '../session/session-context.tsx';
import { useGo, usePath } from '../use-location.ts';
import { DisplaySettings } from './DisplaySettings.tsx';
import { Navigation, PageTitle } from './Navigation.tsx';
import { PrintHeader } from './PrintHeader.tsx';
import { usePrint } from './use-printing.ts';
import { useShortcuts } from './use-shortcuts.ts';

const Palette = lazy(() => import('./Palette.tsx'));
const ShortcutHelp = lazy(() => import('./ShortcutHelp.tsx'));

/** Around every page: navigation, tenant, display settings, operator banner. */
export function Shell({ children }: { children: ReactNode }) {
  const t = useTexts();
  const [open, setOpen] = useState<'palette' | 'help' | null>(null);
  const print = usePrint();
  const go = useGo();
  const session = useSession();
  const { chrome } = usePreferences();
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
    <div
      className={`flex flex-col print:block print:min-h-0 ${chrome === 'none' ? '' : 'min-h-dvh lg:grid lg:grid-cols-[15rem_minmax(0,1fr)]'}`}
    >
      <a
        href="#content"
        className="btn btn-primary absolute top-2 left-2 z-50 -translate-y-16 focus:translate-y-0"
      >
        {t.nav.skip}
      </a>
      <PageTitle />
      {chrome === 'full' && (
        <Side openPalette={() => setOpen('palette')} openHelp={() => setOpen('help')} />
      )}
      <div className="flex min-w-0 flex-1 flex-col">
        <OperatorBanner />
        <TenantClosed />
        <PrintHeader />
        <main id="content" tabIndex={-1} className="min-w-0 flex-1 bg-surface outline-none">
          <ValueMenuProvider>{children}</ValueMenuProvider>
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
  const menu = useRef<HTMLButtonElement>(null);
  const fold = () => {
    setUnfolded(false);
    menu.current?.focus();
  };
  useShortcuts(unfolded ? { Escape: fold } : {});
  return (
    <header className="no-print border-b border-line bg-page lg:sticky lg:top-0 lg:flex lg:h-dvh lg:flex-col lg:border-r lg:border-b-0">
      <div className="flex items-center gap-2 px-4 py-3 lg:pt-5">
        <TenantName />
        <IconButton
          label={t.nav.commands}
          Icon={Search}
          className="ml-auto lg:hidden"
          onClick={openPalette}
        />
        <IconButton
          ref={menu}
          label={t.nav.menu}
          Icon={unfolded ? X : Menu}
          className="lg:hidden"
          aria-expanded={unfolded}
          onClick={() => setUnfolded(!unfolded)}
        />
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
        <p className="truncate font-semibold" title={revealed(tenant.name)}>
          {revealed(tenant.name)}
        </p>
        <p className="truncate text-2xs text-faint">
          {tenant.plan}
          {tenant.externalId !== null && ` · ${revealed(tenant.externalId)}`}
        </p>
      </div>
    </div>
  );
}

function Account({ openHelp }: { openHelp: () => void }) {
  const t = useTexts();
  const { id, email, role } = useSession().actor;
  const name = email ?? id;
  // A reload removes the tenant's data from memory: nothing may remain behind a signed-out screen.
  const signOut = () => api.session.close().finally(() => location.reload());
  return (
    <div className="mt-3 flex items-center gap-1">
      <div className="min-w-0 flex-1 px-1 leading-tight">
        <p className="sr-only">{t.nav.signedInAs}</p>
        <p className="truncate text-xs" title={name}>
          {name}
        </p>
        <p className="text-2xs text-faint">{roleText(t.actors.roles, role)}</p>
      </div>
      <IconButton label={t.nav.help} onClick={openHelp}>
        <kbd className="kbd">?</kbd>
      </IconButton>
      <IconButton label={t.nav.signOut} Icon={LogOut} onClick={signOut} />
    </div>
  );
}

/** Visible during an operator's whole session. */
function OperatorBanner() {
  const t = useTexts();
  const { crossTenant, reason, tenant } = useSession();
  if (!crossTenant) return null;
  return (
    <section
      aria-label={t.operator.badge}
      className="sticky top-0 z-30 flex flex-wrap items-baseline gap-x-3 gap-y-0.5 border-b border-warn/30 bg-warn-soft px-4 py-2 text-warn lg:px-6"
    >
      <strong className="font-semibold">
        <ShieldAlert className="mr-2 inline size-4 align-[-0.15em]" aria-hidden />
        {t.operator.banner({ tenant: revealed(tenant.name) })}
      </strong>
      <span>
        {t.operator.reason}: <q dir="auto">{revealed(reason ?? '')}</q>
      </span>
      <span className="text-xs lg:ml-auto">{t.operator.recorded}</span>
    </section>
  );
}

/** Explains on every page of an offboarded tenant why its events are missing. */
function TenantClosed() {
  const { t, formats } = useReader();
  const { tenant } = useSession();
  if (tenant.closedAt === undefined) return null;
  const when = formats.dateTime(tenant.closedAt);
  const title = t.left.title({ tenant: revealed(tenant.name) });
  return (
    <section
      aria-label={title}
      className="flex items-start gap-2.5 border-b border-line bg-sunken px-4 py-2.5 lg:px-6"
    >
      <DoorClosed aria-hidden className="mt-0.5 size-4 shrink-0 text-faint" />
      <p className="text-pretty">
        <strong className="font-semibold">{title}</strong> {t.left.text({ when })}
      </p>
    </section>
  );
}

/** The product's mark: a drop of ink with a tick. */
function Mark() {
  return (
    <svg viewBox="0 0 32 32" className="size-8 shrink-0" aria-hidden="true">
      <rect width="32" height="32" rx="8" className="fill-accent" />
      <path
        d="M16 5.5c3.4 4.4 6.6 8 6.6 12a6.6 6.6 0 0 1-13.200 0c0-4 3.200-7.600 6.600-12Z"
        className="fill-on-accent"
      />
      <path
        d="m12.700 17.700 2.500 2.500 4.300-4.600"
        className="fill-none stroke-accent"
        strokeWidth="2"
        strokeLinecap="round"
        strokeLinejoin="round"
      />
    </svg>
  );
}

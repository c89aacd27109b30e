import { revealed } from '@indelible/protocol';
import { useRouterState } from '@tanstack/react-router';
import { useEffect } from 'react';
import { AppLink } from '../components/AppLink.tsx';
import { useTexts } from '../i18n/texts.tsx';
import { isVisible, navigationFor, type PanelPage, pages } from '../pages/registry.ts';
import { useSidebarViews } from '../pages/views/use-views.ts';
import { paths } from '../paths.ts';
import { useSession } from '../session/session-context.tsx';
import { usePath } from '../use-location.ts';

/** The pages, the current one marked. */
export function Navigation() {
  const t = useTexts();
  const path = usePath();
  const pages = navigationFor(useSession());
  return (
    <nav aria-label={t.nav.pages} className="px-3 py-2">
      <p className="px-2.5 pb-1.5 text-2xs text-faint">
        {t.nav.settings} <span aria-hidden>›</span> {t.nav.audit}
      </p>
      <ul className="space-y-px">
        {pages.map(({ path: href, title, Icon }) => (
          <li key={href}>
            <AppLink
              href={href}
              aria-current={path === href || path.startsWith(`${href}/`) ? 'page' : undefined}
              className="flex items-center gap-2.5 rounded-lg px-2.5 py-1.5 text-[0.8125rem] text-muted hover:bg-hover hover:text-ink aria-[current=page]:bg-accent-soft aria-[current=page]:font-medium aria-[current=page]:text-accent"
            >
              <Icon className="size-4 shrink-0" aria-hidden />
              {title(t)}
            </AppLink>
            {href === paths.views && <ViewLinks />}
          </li>
        ))}
      </ul>
    </nav>
  );
}

/** The views, each with its own link. */
function ViewLinks() {
  const views = useSidebarViews();
  if (views.length === 0) return null;
  return (
    <ul className="my-0.5 ml-4.5 border-l border-line pl-2">
      {views.map(({ id, name }) => (
        <li key={id}>
          <AppLink
            href={paths.view(id)}
            dir="auto"
            className="block truncate rounded-md px-2 py-1 text-xs text-muted hover:bg-hover hover:text-ink"
            title={revealed(name)}
          >
            {revealed(name)}
          </AppLink>
        </li>
      ))}
    </ul>
  );
}

/** Names the page in the browser's tab and, as it changes, to screen readers. */
export function PageTitle() {
  const t = useTexts();
  const session = useSession();
  const address = useRouterState({
    select: ({ matches }): string | undefined => matches.at(-1)?.fullPath,
  });
  const page = Object.values<PanelPage>(pages).find(({ path }) => path === address);
  const isFound = page !== undefined && isVisible(page, session);
  const title = `${isFound ? page.title(t) : t.error.notFound} · ${revealed(session.tenant.name)}`;
  useEffect(() => {
    document.title = title;
  }, [title]);
  return (
    <p aria-live="polite" className="sr-only">
      {title}
    </p>
  );
}

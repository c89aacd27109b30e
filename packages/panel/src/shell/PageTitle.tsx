import { revealed } from '@indelible/protocol';
import { useRouterState } from '@tanstack/react-router';
import { useEffect } from 'react';
import { useTexts } from '../i18n/texts.tsx';
import { isVisible, type PanelPage, pages } from '../pages/registry.ts';
import { useSession } from '../session/session-context.tsx';

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

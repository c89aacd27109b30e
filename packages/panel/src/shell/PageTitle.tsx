import { useEffect } from 'react';
import { useTexts } from '../i18n/texts.tsx';
import { navigationFor } from '../pages/registry.ts';
import { useSession } from '../session/session-context.tsx';
import { usePath } from '../use-location.ts';

/** Names the page in the browser's tab and, as it changes, to screen readers. */
export function PageTitle() {
  const t = useTexts();
  const session = useSession();
  const path = usePath();
  const page = navigationFor(session).find(
    ({ path: href }) => path === href || path.startsWith(`${href}/`),
  );
  const name = page === undefined ? t.nav.audit : t.nav[page.title];
  const title = `${name} · ${session.tenant.name}`;
  useEffect(() => {
    document.title = title;
  }, [title]);
  return (
    <p aria-live="polite" className="sr-only">
      {title}
    </p>
  );
}

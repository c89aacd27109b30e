import { lazy, Suspense } from 'react';
import { useTexts } from '../i18n/texts.tsx';
import { useSession } from '../state/session-context.tsx';
import { useFormats } from '../state/use-formats.ts';

// After the page itself: it needs the verifier, and nobody waits for it.
const PrintCheckpoint = lazy(() => import('./PrintCheckpoint.tsx'));

/** What paper has to say for itself: whose log, when it was printed, in which zone. */
export function PrintHeader() {
  const t = useTexts();
  const { tenant, actor } = useSession();
  const formats = useFormats();
  return (
    <div className="print-only mb-4 border-b pb-2">
      <p>
        <strong>{tenant.name}</strong> · {t.nav.audit}
      </p>
      <p>
        {t.print.printed} {formats.dateTime(Date.now())} · {actor.email} · {t.print.zone}{' '}
        {formats.timeZone}
      </p>
      <Suspense>
        <PrintCheckpoint />
      </Suspense>
    </div>
  );
}

import { useTexts } from '../i18n/texts.tsx';
import { useSession } from '../state/session-context.tsx';
import { useFormats } from '../state/use-formats.ts';

/** What paper has to say for itself: whose log, when it was printed, in which zone. */
export function PrintHeader() {
  const t = useTexts();
  const { tenant, actor } = useSession();
  const formats = useFormats();
  return (
    <div className="print-only mb-4 flex justify-between border-b pb-2">
      <p>
        <strong>{tenant.name}</strong> · {t.nav.audit}
      </p>
      <p>
        {t.print.printed} {formats.dateTime(Date.now())} · {actor.email} · {t.print.zone}{' '}
        {formats.timeZone}
      </p>
    </div>
  );
}

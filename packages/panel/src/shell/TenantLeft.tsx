import { parseTimestamp } from '@indelible/protocol';
import { DoorClosed } from 'lucide-react';
import { useTexts } from '../i18n/texts.tsx';
import { useFormats } from '../i18n/use-formats.ts';
import { useSession } from '../session/session-context.tsx';

/** Says on every page why so little is left: the tenant is one no more. */
export function TenantLeft() {
  const t = useTexts();
  const formats = useFormats();
  const { tenant } = useSession();
  if (tenant.closedAt === undefined) return null;
  const when = formats.dateTime(parseTimestamp(tenant.closedAt) ?? 0);
  return (
    <section
      aria-label={t.left.title(tenant.name)}
      className="flex items-start gap-2.5 border-b border-line bg-sunken px-4 py-2.5 lg:px-6"
    >
      <DoorClosed aria-hidden className="mt-0.5 size-4 shrink-0 text-faint" />
      <p className="text-pretty">
        <strong className="font-semibold">{t.left.title(tenant.name)}</strong> {t.left.text(when)}
      </p>
    </section>
  );
}

import { ShieldAlert } from 'lucide-react';
import { useTexts } from '../i18n/texts.tsx';
import { useSession } from '../session/session-context.tsx';

/** Stays in sight for as long as an operator is in somebody else's tenant. */
export function OperatorBanner() {
  const t = useTexts();
  const { crossTenant, reason, tenant } = useSession();
  if (!crossTenant) return null;
  return (
    <section
      aria-label={t.operator.badge}
      className="sticky top-0 z-30 flex flex-wrap items-baseline gap-x-3 gap-y-0.5 border-b border-warn/30 bg-warn-soft px-4 py-2 text-warn lg:px-6"
    >
      <ShieldAlert className="size-4 shrink-0 self-center" aria-hidden />
      <strong className="font-semibold">{t.operator.banner(tenant.name)}</strong>
      <span>
        {t.operator.reason}: <q>{reason}</q>
      </span>
      <span className="text-xs lg:ml-auto">{t.operator.recorded}</span>
    </section>
  );
}

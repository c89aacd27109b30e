import {
  Download,
  Eye,
  FileCheck2,
  ListTree,
  ShieldCheck,
  UserRoundSearch,
  Webhook,
} from 'lucide-react';
import { AppLink } from '../components/AppLink.tsx';
import { useTexts } from '../i18n/texts.tsx';
import { paths } from '../paths.ts';
import { useSession } from '../session/session-context.tsx';
import { usePath } from '../use-location.ts';

/** The pages, the current one marked. */
export function Navigation() {
  const t = useTexts();
  const path = usePath();
  const { sensitiveAccess } = useSession();
  const access = { href: paths.sensitiveAccess(), label: t.nav.sensitiveAccess, Icon: Eye };
  const pages = [
    { href: paths.events(), label: t.nav.events, Icon: ListTree },
    { href: paths.operatorAccess(), label: t.nav.operatorAccess, Icon: UserRoundSearch },
    ...(sensitiveAccess ? [access] : []),
    { href: paths.exports(), label: t.nav.exports, Icon: Download },
    { href: paths.integrity, label: t.nav.integrity, Icon: ShieldCheck },
    { href: paths.searches, label: t.nav.searches, Icon: FileCheck2 },
    { href: paths.webhooks, label: t.nav.webhooks, Icon: Webhook },
  ];
  return (
    <nav aria-label={t.nav.pages} className="px-3 py-2">
      <p className="px-2.5 pb-1.5 text-2xs text-faint">
        {t.nav.settings} <span aria-hidden>›</span> {t.nav.audit}
      </p>
      <ul className="space-y-px">
        {pages.map(({ href, label, Icon }) => (
          <li key={href}>
            <AppLink
              href={href}
              aria-current={path === href || path.startsWith(`${href}/`) ? 'page' : undefined}
              className="flex items-center gap-2.5 rounded-lg px-2.5 py-1.5 text-[0.8125rem] text-muted hover:bg-hover hover:text-ink aria-[current=page]:bg-accent-soft aria-[current=page]:font-medium aria-[current=page]:text-accent"
            >
              <Icon className="size-4 shrink-0" aria-hidden />
              {label}
            </AppLink>
          </li>
        ))}
      </ul>
    </nav>
  );
}

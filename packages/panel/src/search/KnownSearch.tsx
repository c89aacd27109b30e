import { Link as LinkIcon } from 'lucide-react';
import type { ReactNode } from 'react';
import { AppLink } from '../components/AppLink.tsx';
import { Notice } from '../components/States.tsx';
import { useTexts } from '../i18n/texts.tsx';
import { paths } from '../paths.ts';
import { useParsedSearch } from '../use-location.ts';

/**
 * Shows its children if the search in the address is valid: a misspelt filter must not widen a
 * result.
 */
export function KnownSearch({ children }: { children: ReactNode }) {
  const parsed = useParsedSearch();
  return 'problems' in parsed ? <BadSearch problems={parsed.problems} /> : children;
}

function BadSearch({ problems }: { problems: { path: string; message: string }[] }) {
  const t = useTexts();
  return (
    <Notice alone title={t.filters.badTitle} Icon={LinkIcon} tone="text-warn">
      <p>{t.filters.badText}</p>
      <ul className="my-3 font-mono text-xs">
        {problems.slice(0, 8).map(({ path, message }) => (
          <li key={`${path} ${message}`}>
            {path}: {message}
          </li>
        ))}
      </ul>
      <AppLink href={paths.events()} className="btn">
        {t.filters.reset}
      </AppLink>
    </Notice>
  );
}

import { revealed } from '@indelible/protocol';
import { Link as LinkIcon } from 'lucide-react';
import type { ReactNode } from 'react';
import { AppLink } from '../components/AppLink.tsx';
import { Notice } from '../components/States.tsx';
import { useTexts } from '../i18n/texts.tsx';
import { paths } from '../paths.ts';
import { useParsedSearch, useSearchPairs } from '../use-location.ts';

/**
 * Shows its children if the search in the address is valid: a misspelt filter must not widen a
 * result.
 */
export function KnownSearch({ children }: { children: ReactNode }) {
  const parsed = useParsedSearch();
  return 'problems' in parsed ? <BadSearch problems={parsed.problems} /> : children;
}

/** The parameters as they are in the address: what the service says of them is English. */
function BadSearch({ problems }: { problems: { path: string }[] }) {
  const t = useTexts();
  const values = new Map(useSearchPairs());
  const names = [...new Set(problems.map(({ path }) => path))];
  return (
    <Notice alone title={t.filters.badTitle} Icon={LinkIcon} tone="text-warn">
      <p>{t.filters.badText}</p>
      <ul className="my-3 font-mono text-xs">
        {names.slice(0, 8).map((name) => (
          <li key={name} dir="auto" className="wrap-anywhere">
            {revealed(`${name}=${values.get(name) ?? ''}`)}
          </li>
        ))}
      </ul>
      <AppLink href={paths.events()} className="btn">
        {t.filters.reset}
      </AppLink>
    </Notice>
  );
}

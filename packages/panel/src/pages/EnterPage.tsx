import { useQueryClient } from '@tanstack/react-query';
import { Link2Off } from 'lucide-react';
import { useEffect, useRef, useState } from 'react';
import { api, type Session } from '../api.ts';
import { Opening, Speaking } from '../components/SignInGate.tsx';
import { Notice } from '../components/States.tsx';
import { useTexts } from '../i18n/texts.tsx';
import { isPanelPath, paths } from '../paths.ts';
import { takeReturnPath } from '../state/return-path.ts';
import { useGo } from '../state/use-location.ts';

/** Where a viewer link leads: its token is spent for a session, and leaves the address. */
export function EnterPage() {
  const queries = useQueryClient();
  const go = useGo();
  const [failed, setFailed] = useState(false);
  const spent = useRef(false);
  useEffect(() => {
    if (spent.current) return;
    spent.current = true;
    const token = location.hash.slice(1);
    // Before anything else: a token must not stay where it could be copied or sent on.
    history.replaceState(history.state, '', paths.enter);
    if (token === '') return setFailed(true);
    api.session.open({ token }).then(
      (session) => {
        queries.clear();
        queries.setQueryData(['session'], session);
        go(startOf(session), { replace: true });
      },
      () => setFailed(true),
    );
  }, [queries, go]);
  return <Speaking session={null}>{failed ? <BadLink /> : <Opening />}</Speaking>;
}

/** Where the link leads; if that is nowhere in particular, where its reader was before. */
function startOf(session: Session): string {
  const { path } = session;
  const kept = takeReturnPath(session, Date.now());
  if (path !== null && path !== paths.events() && isPanelPath(path)) return path;
  return kept !== null && isPanelPath(kept) ? kept : paths.events();
}

function BadLink() {
  const t = useTexts();
  return (
    <main className="grid min-h-dvh place-items-center">
      <Notice
        alone
        title={t.signIn.linkTitle}
        icon={<Link2Off className="mb-1 size-6 text-faint" aria-hidden />}
      >
        {t.signIn.linkText}
      </Notice>
    </main>
  );
}

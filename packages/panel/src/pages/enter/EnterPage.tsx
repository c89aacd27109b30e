import { IndelibleError } from '@indelible/client';
import { isPanelPath } from '@indelible/protocol';
import { type QueryClient, useQueryClient } from '@tanstack/react-query';
import { Hourglass, Link2Off, RotateCw } from 'lucide-react';
import { useCallback, useEffect, useRef, useState } from 'react';
import { api, type Session } from '../../api.ts';
import { Button } from '../../components/Button.tsx';
import { Notice } from '../../components/States.tsx';
import { useTexts } from '../../i18n/texts.tsx';
import { paths } from '../../paths.ts';
import { takeLeft } from '../../session/between-sessions.ts';
import { Localized, Opening } from '../../session/SignInGate.tsx';
import { useGo } from '../../use-location.ts';

/** `bad`: the service refused the link. `busy`, `away`: the service has not checked it yet. */
type LinkState = 'opening' | 'bad' | 'busy' | 'away';

/** Opened by a viewer link: exchanges the token for a session and removes it from the address. */
export function EnterPage() {
  const queries = useQueryClient();
  const go = useGo();
  const [state, setState] = useState<LinkState>('opening');
  const token = useRef<string | null>(null);
  const open = useCallback(() => {
    setState('opening');
    api.session.open({ token: token.current ?? '' }).then(
      (session) => go(startOf(entered(queries, session)), { replace: true }),
      (error: unknown) => setState(stateAfter(error)),
    );
  }, [queries, go]);
  useEffect(() => {
    if (token.current !== null) return;
    token.current = location.hash.slice(1);
    // First of all: a token must not stay where it could be copied or sent on.
    history.replaceState(history.state, '', paths.enter);
    if (token.current === '') setState('bad');
    else open();
  }, [open]);
  return (
    <Localized session={null}>
      {state === 'opening' && <Opening />}
      {state === 'bad' && <BadLink />}
      {(state === 'busy' || state === 'away') && <NotJudged state={state} again={open} />}
    </Localized>
  );
}

function stateAfter(error: unknown): LinkState {
  if (!(error instanceof IndelibleError) || error.status >= 500) return 'away';
  return error.status === 429 ? 'busy' : 'bad';
}

function entered(queries: QueryClient, session: Session): Session {
  queries.clear();
  queries.setQueryData(['session'], session);
  return session;
}

/** The page that the link names, else the page at which the reader's last session ended. */
function startOf(session: Session): string {
  const { path } = session;
  const left = takeLeft('path', session, Date.now());
  if (path !== null && path !== paths.events() && isPanelPath(path)) return path;
  return typeof left === 'string' && isPanelPath(left) ? left : paths.events();
}

function BadLink() {
  const t = useTexts();
  return (
    <main className="grid min-h-dvh place-items-center">
      <Notice alone title={t.signIn.linkTitle} Icon={Link2Off}>
        {t.signIn.linkText}
      </Notice>
    </main>
  );
}

function NotJudged({ state, again }: { state: 'busy' | 'away'; again: () => void }) {
  const t = useTexts();
  return (
    <main className="grid min-h-dvh place-items-center">
      <Notice
        alone
        title={state === 'busy' ? t.signIn.busyTitle : t.signIn.awayTitle}
        Icon={Hourglass}
        tone="text-accent"
      >
        <p>{t.signIn.notJudged}</p>
        <Button Icon={RotateCw} className="mt-5" onClick={again}>
          {t.signIn.again}
        </Button>
      </Notice>
    </main>
  );
}

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
      {state === 'opening' ? <Opening /> : <NotOpened state={state} again={open} />}
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

const looks = {
  bad: { title: 'linkTitle', text: 'linkText', Icon: Link2Off, tone: 'text-faint' },
  busy: { title: 'busyTitle', text: 'notJudged', Icon: Hourglass, tone: 'text-accent' },
  away: { title: 'awayTitle', text: 'notJudged', Icon: Hourglass, tone: 'text-accent' },
} as const;

function NotOpened({ state, again }: { state: keyof typeof looks; again: () => void }) {
  const t = useTexts();
  const { title, text, ...look } = looks[state];
  return (
    <main className="grid min-h-dvh place-items-center">
      <Notice alone title={t.signIn[title]} {...look}>
        <p>{t.signIn[text]}</p>
        {state !== 'bad' && (
          <Button Icon={RotateCw} className="mt-5" onClick={again}>
            {t.signIn.again}
          </Button>
        )}
      </Notice>
    </main>
  );
}

import { IndelibleError } from '@indelible/client';
import { reasonLengthMax } from '@indelible/protocol';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { KeyRound, ShieldAlert } from 'lucide-react';
import { type FormEvent, type ReactNode, useEffect, useMemo, useState } from 'react';
import { api, isSignedOut, type Session } from '../api.ts';
import { Button } from '../components/Button.tsx';
import { FormField } from '../components/fields.tsx';
import { ActionError, errorText, LoadError, Notice } from '../components/States.tsx';
import { languageFor } from '../i18n/languages.ts';
import { TextsProvider, useTexts } from '../i18n/texts.tsx';
import { usePreferences } from '../preferences.ts';
import { forgetOld, keptMs, leave, signInHref } from './between-sessions.ts';
import { hearHost, isEmbedded, tellHost } from './host.ts';
import { SessionProvider } from './session-context.tsx';

/** Shows the panel to a signed-in reader, else the ways to sign in, at the same address. */
export function SignInGate({ children }: { children: ReactNode }) {
  const session = useQuery({
    queryKey: ['session'],
    queryFn: api.session.get,
    staleTime: Infinity,
  });
  useSignedOutElsewhere();
  if (session.data && !isSignedOut(session.error)) {
    return (
      <Localized session={session.data}>
        <SessionProvider value={session.data}>{children}</SessionProvider>
      </Localized>
    );
  }
  return (
    <Localized session={null}>
      {session.isPending && <Opening />}
      {isSignedOut(session.error) && <SignedOut last={session.data} />}
      {session.isError && !isSignedOut(session.error) && (
        <main>
          <LoadError alone error={session.error} retry={session.refetch} />
        </main>
      )}
    </Localized>
  );
}

/** Texts in the reader's language: chosen, else the tenant's, else the browser's. */
export function Localized({ session, children }: { session: Session | null; children: ReactNode }) {
  const { language } = usePreferences();
  const wishes = session ? [session.tenant.locale] : navigator.languages;
  return <TextsProvider language={languageFor(language, wishes)}>{children}</TextsProvider>;
}

export function Opening() {
  const t = useTexts();
  return (
    <main className="grid min-h-dvh place-items-center">
      <p role="status" className="text-muted">
        {t.signIn.opening}
      </p>
    </main>
  );
}

/** A request that finds no session asks for a new one; the address does not change. */
function useSignedOutElsewhere(): void {
  const queries = useQueryClient();
  useEffect(
    () =>
      queries.getQueryCache().subscribe(({ query }) => {
        const isOther = query.queryKey[0] !== 'session';
        if (!isOther || !isSignedOut(query.state.error)) return;
        if (queries.getQueryState(['session'])?.fetchStatus === 'idle') {
          query.setState({ ...query.state, error: null });
          void queries.invalidateQueries({ queryKey: ['session'] });
        }
      }),
    [queries],
  );
}

/** Stores this address for a new link, and checks the session when the tab becomes visible. */
function useReturning(last: Session | undefined): void {
  const queries = useQueryClient();
  useEffect(() => {
    const { pathname, search } = location;
    if (last) leave('path', `${pathname}${search}`, last, Date.now());
    const forget = () => forgetOld(Date.now());
    forget();
    const timer = setTimeout(forget, keptMs);
    const look = () => {
      if (document.visibilityState === 'visible') {
        void queries.invalidateQueries({ queryKey: ['session'] });
      }
    };
    document.addEventListener('visibilitychange', look);
    return () => {
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', look);
    };
  }, [queries, last]);
}

function isAboutPerson(error: unknown): boolean {
  return error instanceof IndelibleError && (error.status === 401 || error.status === 403);
}

function SignedOut({ last }: { last: Session | undefined }) {
  const t = useTexts();
  const embedded = useMemo(isEmbedded, []);
  const [pending, setPending] = useState<{ jwt: string; tenantId?: string } | null>(null);
  const [refused, setRefused] = useState<string | null>(null);
  const queries = useQueryClient();
  useReturning(last);
  const enter = (session: Session) => {
    // The session's query stays, because SignInGate observes it and would not notice a new one.
    queries.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== 'session' });
    queries.setQueryData(['session'], session);
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: one listener while it is shown
  useEffect(() => {
    const unmounted = new AbortController();
    hearHost((message) => {
      if (message.type !== 'indelible:token') return;
      const { type: _token, ...token } = message;
      api.session.open(token).then(enter, (error: unknown) => {
        const code = error instanceof IndelibleError ? error.code : '';
        if (code === 'reason_required') setPending(token);
        else setRefused(isAboutPerson(error) ? t.signIn.forbidden : errorText(error, t));
      });
    }, unmounted.signal).then(() => tellHost({ type: 'indelible:ready' }));
    return () => unmounted.abort();
  }, []);
  if (pending) {
    return (
      <main className="grid min-h-dvh place-items-center p-4">
        <ReasonForm submit={(reason) => api.session.open({ ...pending, reason }).then(enter)} />
      </main>
    );
  }
  const title = last ? t.signIn.expiredTitle : t.signIn.neededTitle;
  const text = last ? t.signIn.expiredText : t.signIn.neededText;
  return (
    <main className="grid min-h-dvh place-items-center">
      <Notice alone title={refused ?? title} Icon={KeyRound} tone="text-accent">
        <p>{embedded && refused === null ? t.signIn.waiting : text}</p>
        <div className="mt-5 flex flex-wrap justify-center gap-2">
          {!embedded && <HostSignIn />}
          <Button onClick={() => queries.invalidateQueries({ queryKey: ['session'] })}>
            {t.signIn.retry}
          </Button>
        </div>
      </Notice>
    </main>
  );
}

/** Leads to the host's sign-in, if the service knows it. An embedding page signs in by itself. */
function HostSignIn() {
  const t = useTexts();
  const { data } = useQuery({ queryKey: ['panel-config'], queryFn: api.config });
  if (!data?.signInUrl) return null;
  const here = `${location.pathname}${location.search}`;
  return (
    <a href={signInHref(data.signInUrl, here)} className="btn btn-primary">
      {t.signIn.atHost}
    </a>
  );
}

/** Asks an operator for a reason, which the tenant's log records. */
function ReasonForm({ submit }: { submit: (reason: string) => Promise<unknown> }) {
  const t = useTexts();
  const [reason, setReason] = useState('');
  const enter = useMutation({ mutationFn: () => submit(reason.trim()) });
  const send = (event: FormEvent) => {
    event.preventDefault();
    enter.mutate();
  };
  return (
    <form onSubmit={send} className="card w-full max-w-lg p-6">
      <ShieldAlert className="mb-3 size-6 text-warn" aria-hidden />
      <h1 className="text-lg font-semibold text-balance">{t.operator.formTitle}</h1>
      <p className="mt-2 text-muted text-pretty">{t.operator.formText}</p>
      <div className="mt-5">
        <FormField label={t.operator.formLabel} hint={t.operator.formHint}>
          {(ties) => (
            <textarea
              {...ties}
              className="field h-24 py-2"
              required
              maxLength={reasonLengthMax}
              value={reason}
              onChange={({ target }) => setReason(target.value)}
            />
          )}
        </FormField>
      </div>
      <ActionError error={enter.error} />
      <Button
        look="primary"
        className="mt-5 w-full"
        type="submit"
        disabled={reason.trim() === '' || enter.isPending || enter.isSuccess}
      >
        {t.operator.enter}
      </Button>
    </form>
  );
}

import { IndelibleError } from '@indelible/client';
import { CircleAlert, type LucideIcon, RotateCw } from 'lucide-react';
import { type ReactNode, useEffect, useState } from 'react';
import { type Texts, useTexts } from '../i18n/texts.tsx';
import { paths } from '../paths.ts';
import { AppLink } from './AppLink.tsx';
import { Button } from './Button.tsx';
import { PageHead } from './PageHead.tsx';

interface NoticeProps {
  title: string;
  Icon?: LucideIcon;
  /** Colour of the icon. */
  tone?: string;
  /** Whether the page shows nothing else, so that it needs an `h1`. */
  alone?: boolean;
  children?: ReactNode;
}

/** A sentence or two in place of missing content. */
export function Notice({ title, Icon, tone = 'text-faint', alone, children }: NoticeProps) {
  const Heading = alone ? 'h1' : 'h2';
  return (
    <div className="mx-auto flex max-w-lg flex-col items-center gap-2 px-4 py-16 text-center">
      {Icon && <Icon className={`mb-1 size-6 ${tone}`} aria-hidden />}
      <Heading className="text-base font-semibold text-balance">{title}</Heading>
      <div className="text-muted text-pretty">{children}</div>
    </div>
  );
}

interface LoadErrorProps {
  error: unknown;
  retry: () => void;
}

/** A failed request, with a retry if that can help; the rest of the page does not change. */
export function LoadError({ error, retry, alone = false }: LoadErrorProps & { alone?: boolean }) {
  const t = useTexts();
  const requestId = error instanceof IndelibleError ? error.requestId : null;
  return (
    <div role="alert">
      <Notice title={t.error.title} Icon={CircleAlert} tone="text-del" alone={alone}>
        <p>{errorText(error, t)}</p>
        {mayPass(error) && (
          <Button Icon={RotateCw} className="mt-4" onClick={retry}>
            {t.error.retry}
          </Button>
        )}
        {requestId && (
          <p className="mt-4 font-mono text-2xs">{t.error.request({ id: requestId })}</p>
        )}
      </Notice>
    </div>
  );
}

/** An error in little room. */
export function SmallError({ error, retry }: LoadErrorProps) {
  const t = useTexts();
  return (
    <div>
      <ActionError error={error} className="" />
      {mayPass(error) && (
        <Button className="mt-2" onClick={retry}>
          {t.error.retry}
        </Button>
      )}
    </div>
  );
}

const mayPass = (error: unknown) => !(error instanceof IndelibleError && error.status === 403);

/** Whether more events have the words of a search than the service counts or sorts. */
export const isTooMany = (error: unknown): boolean =>
  error instanceof IndelibleError &&
  error.errors.some(({ path, code }) => path === 'q' && code === 'too_many');

export function errorText(error: unknown, t: Texts): string {
  // Below 400, another program has answered, such as a proxy.
  if (!(error instanceof IndelibleError) || error.status < 400) return t.error.unreachable;
  if (isTooMany(error)) return t.error.tooMany;
  if (error.status === 403) return t.error.forbidden;
  if (error.status === 404) return t.error.notFound;
  if (error.code === 'too_slow') return t.error.tooSlow;
  if (error.status === 429 || error.status >= 500) return t.error.busy;
  return error.message;
}

/** Why an action failed; empty without an error. */
export function ActionError({ error, className = 'mt-3' }: { error: unknown; className?: string }) {
  const t = useTexts();
  if (error === null || error === undefined) return null;
  return (
    <p role="alert" className={`text-del ${className}`}>
      {errorText(error, t)}
    </p>
  );
}

/** Whether a wait has lasted for `ms`. */
export function useLate(isWaiting: boolean, ms: number): boolean {
  const [isLate, setLate] = useState(false);
  useEffect(() => {
    const timer = isWaiting ? setTimeout(() => setLate(true), ms) : undefined;
    return () => {
      clearTimeout(timer);
      setLate(false);
    };
  }, [isWaiting, ms]);
  return isLate;
}

/** With what a page shows of the former request before this (`useEventPage`), at most 5 s. */
const silenceMs = 3_000;

/** Grey lines while a text is loading; after some seconds, a sentence too. */
export function Skeleton({ lines = 8 }: { lines?: number | undefined }) {
  const t = useTexts();
  const isLate = useLate(true, silenceMs);
  const widths = ['w-11/12', 'w-3/4', 'w-5/6', 'w-2/3'];
  return (
    <div className="space-y-4 p-4" role="status">
      <span className="sr-only">{t.events.loading}</span>
      {isLate && <p className="text-muted">{t.error.late}</p>}
      {[...Array(lines).keys()].map((line) => (
        <div key={`line ${line}`} className={`skeleton h-4 ${widths[line % widths.length]}`} />
      ))}
    </div>
  );
}

export interface Query {
  isPending: boolean;
  isError: boolean;
  error: unknown;
  refetch: () => unknown;
}

/** What a query shows besides its data: that it is loading, or why it failed. */
export function QueryState({ query, lines }: { query: Query; lines?: number | undefined }) {
  if (query.isPending) return <Skeleton lines={lines} />;
  return query.isError && <LoadError error={query.error} retry={query.refetch} />;
}

/** A page about one thing, until that is loaded. */
export function LoadingPage({ title }: { title: string }) {
  return (
    <>
      <PageHead title={title} />
      <Skeleton />
    </>
  );
}

export const isMissing = (error: unknown): boolean =>
  error instanceof IndelibleError && error.code === 'not_found';

/** A page about one thing that does not exist, or could not be loaded. */
export function FailedPage({ query: { error, refetch } }: { query: Query }) {
  return isMissing(error) ? <Missing /> : <LoadError alone error={error} retry={refetch} />;
}

export function Missing() {
  const t = useTexts();
  return (
    <Notice alone title={t.error.notFound}>
      <ToEvents />
    </Notice>
  );
}

/** The way on from a page that has nothing to show. */
export function ToEvents() {
  const t = useTexts();
  return (
    <AppLink href={paths.events()} className="btn mt-3">
      {t.error.toEvents}
    </AppLink>
  );
}

export function Crash({ error }: { error: unknown }) {
  return <LoadError error={error} retry={() => location.reload()} />;
}

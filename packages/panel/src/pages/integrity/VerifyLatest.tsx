import type { AuditEvent } from '@indelible/client';
import { useQuery } from '@tanstack/react-query';
import { CircleCheck, CircleX, ShieldCheck } from 'lucide-react';
import { useState } from 'react';
import { client } from '../../api.ts';
import { AppLink } from '../../components/AppLink.tsx';
import { useTexts, wordOf } from '../../i18n/texts.tsx';
import { useFormats } from '../../i18n/use-formats.ts';
import { paths } from '../../paths.ts';
import { checkEvent, type ProofResult } from '../../proof/check-event.ts';
import { pageSize } from '../../search/use-events.ts';

type Verdicts = ReadonlyMap<string, ProofResult['code'] | 'unreachable'>;

/** The latest events, each proven by this browser when it is asked to. */
export function VerifyLatest() {
  const t = useTexts();
  const page = useQuery({
    queryKey: ['latest'],
    queryFn: () => client.page({ limit: pageSize }),
  });
  const events = page.data?.data ?? [];
  const [verdicts, setVerdicts] = useState<Verdicts>(new Map());
  const [running, setRunning] = useState(false);
  const verify = async () => {
    setRunning(true);
    setVerdicts(new Map());
    // One after another, so that a page of proofs does not slow down recording.
    for (const event of events) {
      const code = await checkEvent(event).then(
        ({ code }) => code,
        () => 'unreachable' as const,
      );
      setVerdicts((known) => new Map(known).set(event.id, code));
    }
    setRunning(false);
  };
  return (
    <section className="card p-5">
      <div className="flex flex-wrap items-center gap-3">
        <div>
          <h2 className="font-semibold">{t.integrity.verify}</h2>
          <Outcome count={events.length} verdicts={verdicts} running={running} />
        </div>
        <button
          type="button"
          className="no-print btn btn-primary ml-auto"
          disabled={running || events.length === 0}
          onClick={() => void verify()}
        >
          <ShieldCheck aria-hidden />
          {t.integrity.verifyLatest({ count: events.length })}
        </button>
      </div>
      {verdicts.size > 0 && <Checked events={events} verdicts={verdicts} />}
    </section>
  );
}

function Outcome(props: { count: number; verdicts: Verdicts; running: boolean }) {
  const { count, verdicts, running } = props;
  const t = useTexts();
  if (verdicts.size === 0 && !running) return null;
  const broken = [...verdicts.values()].filter((code) => code !== 'valid').length;
  if (running) {
    return (
      <div className="mt-1">
        <progress
          className="h-1.5 w-64 accent-accent"
          max={count}
          value={verdicts.size}
          aria-label={t.integrity.verify}
        />
        <p className="text-xs text-muted tabular-nums">
          {t.integrity.verifying({ count, done: verdicts.size })}
        </p>
      </div>
    );
  }
  return (
    <p
      role="status"
      className={`mt-1 flex items-center gap-1.5 font-medium ${broken === 0 ? 'text-add' : 'text-del'}`}
    >
      {broken === 0 ? (
        <CircleCheck aria-hidden className="size-4" />
      ) : (
        <CircleX aria-hidden className="size-4" />
      )}
      {broken === 0 ? t.integrity.verified({ count }) : t.integrity.broken({ count: broken })}
    </p>
  );
}

function Checked({ events, verdicts }: { events: readonly AuditEvent[]; verdicts: Verdicts }) {
  const t = useTexts();
  const formats = useFormats();
  return (
    <ol className="mt-4 grid gap-x-8 border-t border-line pt-2 text-xs md:grid-cols-2">
      {events.map((event) => {
        const code = verdicts.get(event.id);
        const name = event.resource.name ?? wordOf(t.resources, event.resource.type);
        return (
          <li key={event.id} className="flex min-h-7 items-center gap-2 border-b border-line">
            {code === undefined && <span aria-hidden className="skeleton size-3.5 rounded-full" />}
            {code === 'valid' && <CircleCheck aria-hidden className="size-3.5 shrink-0 text-add" />}
            {code !== undefined && code !== 'valid' && (
              <CircleX aria-hidden className="size-3.5 shrink-0 text-del" />
            )}
            <AppLink href={paths.event(event.id)} className="min-w-0 truncate hover:underline">
              {wordOf(t.actions, event.action)} · {name}
            </AppLink>
            <span className="ml-auto shrink-0 text-faint tabular-nums">
              {code === undefined || code === 'valid' ? formats.dateTime(event.timestamp) : code}
            </span>
          </li>
        );
      })}
    </ol>
  );
}

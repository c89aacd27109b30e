import type { AuditEvent, EventVerdict } from '@indelible/client';
import { useQuery } from '@tanstack/react-query';
import { ShieldAlert, ShieldCheck, ShieldQuestion } from 'lucide-react';
import { useTexts } from '../../i18n/texts.tsx';

/** The result of this browser's check that the event is in the signed log. */
export function ProofBadge({ event }: { event: AuditEvent }) {
  const t = useTexts();
  const proof = useProof(event);
  const { data } = proof;
  if (proof.isPending) {
    return (
      <p
        role="status"
        className="flex items-center gap-2 rounded-lg bg-sunken px-3 py-2.5 text-muted"
      >
        <ShieldQuestion aria-hidden className="size-5 animate-pulse text-faint" />
        {t.proof.checking}
      </p>
    );
  }
  if (data?.valid) return <Proven verdict={data} erased={event.erased !== undefined} />;
  const unavailable = data === undefined || data.code === 'no_proof';
  return (
    <div
      role="alert"
      className={`rounded-lg px-3 py-2.5 ${unavailable ? 'bg-sunken text-muted' : 'bg-del-soft text-del'}`}
    >
      <p className="flex items-center gap-2 font-medium">
        <ShieldAlert aria-hidden className="size-5 shrink-0" />
        {unavailable ? t.proof.unavailable : t.proof.failed}
      </p>
      <p className="mt-1 pl-7 text-xs">
        {unavailable ? t.proof.unavailableText : `${t.proof.failedText} (${data.code})`}
      </p>
      <button type="button" className="link mt-1 ml-7 text-xs" onClick={() => void proof.refetch()}>
        {t.proof.again}
      </button>
    </div>
  );
}

function Proven({ verdict, erased }: { verdict: EventVerdict; erased: boolean }) {
  const t = useTexts();
  const { event, leafHash, checkpoint } = verdict;
  const facts = [
    [t.proof.leaf, leafHash],
    [t.proof.key, checkpoint?.origin],
  ] as const;
  return (
    <details className="group keep rounded-lg bg-add-soft text-add">
      <summary className="flex list-none items-center gap-2 rounded-lg px-3 py-2.5 font-medium">
        <ShieldCheck aria-hidden className="size-5 shrink-0" />
        {t.proof.valid}
        <span className="ml-auto text-xs font-normal underline decoration-current/40 underline-offset-2 group-open:hidden">
          {t.proof.details}
        </span>
      </summary>
      <div className="space-y-2 px-3 pb-3 pl-10 text-xs">
        <p className="text-pretty">
          {t.proof.validText({ position: event?.sequence ?? 0, size: checkpoint?.size ?? 0 })}
        </p>
        {erased && <p className="text-pretty">{t.proof.withoutErased}</p>}
        <p className="text-pretty">{t.proof.limits}</p>
        <dl>
          {facts.map(([name, text]) => (
            <div key={name}>
              <dt className="font-medium">{name}</dt>
              <dd className="font-mono break-all">{text}</dd>
            </div>
          ))}
        </dl>
      </div>
    </details>
  );
}

/** The proof of an event, checked in this browser; the verifier is loaded on demand. */
function useProof(shown: AuditEvent) {
  return useQuery({
    queryKey: ['proof', shown.id],
    queryFn: async () => {
      const { checkEvent } = await import('../../proof/check-event.ts');
      // An answer that leaves the states out shows an event without states.
      return checkEvent({ before: null, after: null, ...shown });
    },
    staleTime: Number.POSITIVE_INFINITY,
  });
}

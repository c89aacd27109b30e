import { useQuery } from '@tanstack/react-query';
import { BadgeCheck, CircleX, GitCommitVertical, ShieldAlert } from 'lucide-react';
import type { ReactNode } from 'react';
import { client } from '../../api.ts';
import { CopyButton } from '../../components/CopyButton.tsx';
import { PageHead } from '../../components/PageHead.tsx';
import { LoadError, Skeleton } from '../../components/States.tsx';
import { useTexts } from '../../i18n/texts.tsx';
import { useFormats } from '../../i18n/use-formats.ts';
import type { CheckedCheckpoint } from '../../proof/check-checkpoint.ts';
import { useCheckpoint } from '../../proof/use-checkpoint.ts';
import { useSession } from '../../session/session-context.tsx';
import { VerifyLatest } from './VerifyLatest.tsx';

/** The signed head of the log, checked by this browser, and proofs of its latest events. */
export default function IntegrityPage() {
  const t = useTexts();
  const checkpoint = useCheckpoint();
  return (
    <>
      <PageHead title={t.nav.integrity} intro={t.integrity.intro} />
      {checkpoint.isPending && <Skeleton label={t.events.loading} />}
      {checkpoint.isError && <LoadError error={checkpoint.error} retry={checkpoint.refetch} />}
      {checkpoint.data && (
        <div className="grid max-w-6xl items-start gap-4 px-4 pb-10 lg:grid-cols-2 lg:px-6">
          <SignedHead checked={checkpoint.data} />
          <div className="grid gap-4">
            <SinceLastVisit checked={checkpoint.data} />
            <Retained />
          </div>
          <div className="lg:col-span-2">
            <VerifyLatest />
          </div>
          <WholeLog checked={checkpoint.data} />
        </div>
      )}
    </>
  );
}

function Card({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section className="card keep min-w-0 p-5">
      <h2 className="mb-3 font-semibold">{title}</h2>
      {children}
    </section>
  );
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className="border-t border-line py-2 first:border-0 first:pt-0 last:pb-0">
      <dt className="text-xs text-faint">{name}</dt>
      <dd className="mt-0.5 break-all">{children}</dd>
    </div>
  );
}

function SignedHead({ checked }: { checked: CheckedCheckpoint }) {
  const t = useTexts();
  const formats = useFormats();
  const { checkpoint, isValid, rootHex, vkey } = checked;
  return (
    <Card title={t.integrity.checkpoint}>
      <dl>
        <Fact name={t.integrity.size}>
          <span className="text-2xl font-semibold tracking-tight tabular-nums">
            {checkpoint ? formats.number(checkpoint.size) : '—'}
          </span>
        </Fact>
        <Fact name={t.integrity.signature}>
          <span
            className={`inline-flex items-center gap-1.5 font-medium ${isValid ? 'text-add' : 'text-del'}`}
          >
            {isValid ? (
              <BadgeCheck aria-hidden className="size-4" />
            ) : (
              <CircleX aria-hidden className="size-4" />
            )}
            {isValid ? t.integrity.signatureValid : t.integrity.signatureInvalid}
          </span>
        </Fact>
        <Fact name={t.integrity.root}>
          <span className="font-mono text-xs">{rootHex}</span>
        </Fact>
        <Fact name={t.integrity.origin}>
          <span className="font-mono text-xs">{checkpoint?.origin}</span>
        </Fact>
        <Fact name={t.integrity.key}>
          <span className="font-mono text-xs">{vkey}</span>
        </Fact>
      </dl>
    </Card>
  );
}

function SinceLastVisit({ checked }: { checked: CheckedCheckpoint }) {
  const t = useTexts();
  const { since, checkpoint } = checked;
  if (!checked.isValid) return null;
  const text = {
    first: t.integrity.firstVisit,
    same: t.integrity.unchanged,
    extended: t.integrity.extended({
      before: 'size' in since ? since.size : 0,
      now: checkpoint?.size ?? 0,
    }),
    rewritten: t.integrity.rewritten,
  }[since.kind];
  const alarming = since.kind === 'rewritten';
  return (
    <Card title={t.integrity.history}>
      <p
        role={alarming ? 'alert' : undefined}
        className={`flex gap-2.5 text-pretty ${alarming ? 'font-medium text-del' : 'text-muted'}`}
      >
        {alarming ? (
          <ShieldAlert aria-hidden className="mt-0.5 size-4 shrink-0" />
        ) : (
          <GitCommitVertical aria-hidden className="mt-0.5 size-4 shrink-0 text-add" />
        )}
        {text}
      </p>
    </Card>
  );
}

function Retained() {
  const t = useTexts();
  const formats = useFormats();
  const { tenant } = useSession();
  const oldest = useQuery({
    queryKey: ['oldest'],
    queryFn: () => client.page({ order: 'asc', limit: 1, includeTotal: true }),
  });
  const first = oldest.data?.data[0];
  const total = oldest.data?.pagination.total;
  const count = total?.relation === 'gte' ? t.events.countOver : t.events.count;
  return (
    <Card title={t.integrity.retained}>
      <dl>
        <Fact name={t.integrity.plan}>{tenant.plan}</Fact>
        <Fact name={t.integrity.oldest}>{first ? formats.dateTime(first.timestamp) : '—'}</Fact>
        <Fact name={t.nav.events}>{total ? count({ count: total.value }) : '—'}</Fact>
      </dl>
    </Card>
  );
}

function WholeLog({ checked }: { checked: CheckedCheckpoint }) {
  const t = useTexts();
  const { tenant } = useSession();
  const command = `npx indelible verify ${tenant.id} --url ${location.origin}`;
  return (
    <details className="card lg:col-span-2">
      <summary className="px-5 py-3.5 font-semibold">{t.integrity.whole}</summary>
      <div className="space-y-4 px-5 pb-5">
        <div className="flex items-center gap-2 rounded-lg bg-sunken px-3 py-1.5">
          <code className="min-w-0 flex-1 font-mono text-xs break-all">{command}</code>
          <CopyButton text={command} label={t.buttons.copy} />
        </div>
        <div>
          <h3 className="label mb-1">{t.integrity.note}</h3>
          <pre className="rounded-lg bg-sunken p-3 font-mono text-xs break-all whitespace-pre-wrap">
            {checked.note}
          </pre>
        </div>
      </div>
    </details>
  );
}

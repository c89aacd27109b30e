import type { AuditEvent, EventVerdict } from '@indelible/client';
import { revealed } from '@indelible/protocol';
import { useMutation, useQuery } from '@tanstack/react-query';
import { BadgeCheck, CircleCheck, CircleX, ShieldCheck } from 'lucide-react';
import { useState } from 'react';
import { client } from '../../api.ts';
import { AppLink } from '../../components/AppLink.tsx';
import { Button } from '../../components/Button.tsx';
import { CopyButton } from '../../components/CopyButton.tsx';
import { Fact } from '../../components/Fact.tsx';
import { PageHead } from '../../components/PageHead.tsx';
import { ActionError, QueryState } from '../../components/States.tsx';
import { useReader, useTexts, wordOf } from '../../i18n/texts.tsx';
import { paths } from '../../paths.ts';
import type { CheckedCheckpoint } from '../../proof/check-checkpoint.ts';
import { checkEvent } from '../../proof/check-event.ts';
import { checkpointQuery } from '../../proof/checkpoint-query.ts';
import { pageSize } from '../../search/use-events.ts';
import { useSession } from '../../session/session-context.tsx';
import { Card } from './Card.tsx';
import { SinceLastVisit } from './SinceLastVisit.tsx';

/** The signed head of the log, checked by this browser, and proofs of its latest events. */
export default function IntegrityPage() {
  const t = useTexts();
  const { tenant } = useSession();
  const checkpoint = useQuery(checkpointQuery(tenant.id));
  return (
    <>
      <PageHead title={t.nav.integrity} intro={t.integrity.intro} />
      <QueryState query={checkpoint} />
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

function SignedHead({ checked }: { checked: CheckedCheckpoint }) {
  const { t, formats } = useReader();
  const { checkpoint, isValid, rootHex, vkey } = checked;
  const Icon = isValid ? BadgeCheck : CircleX;
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
            <Icon aria-hidden className="size-4 shrink-0" />
            {isValid ? t.integrity.signatureValid : t.integrity.signatureInvalid}
          </span>
        </Fact>
        <Fact name={t.integrity.root} code={rootHex} />
        <Fact name={t.integrity.origin} code={checkpoint?.origin} />
        <Fact name={t.integrity.key} code={vkey} />
      </dl>
    </Card>
  );
}

function Retained() {
  const { t, formats } = useReader();
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
  const command = `indelible verify ${tenant.id} --url ${location.origin}`;
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

type Verdicts = ReadonlyMap<string, EventVerdict['code']>;

/** The latest events, each proven by this browser when it is asked to. */
function VerifyLatest() {
  const t = useTexts();
  const page = useQuery({
    queryKey: ['latest'],
    queryFn: () => client.page({ limit: pageSize }),
  });
  const events = page.data?.data ?? [];
  const [verdicts, setVerdicts] = useState<Verdicts>(new Map());
  const verify = useMutation({
    mutationFn: async () => {
      setVerdicts(new Map());
      // One after another, so that a page of proofs does not slow down recording.
      for (const event of events) {
        const { code } = await checkEvent(event);
        setVerdicts((known) => new Map(known).set(event.id, code));
      }
    },
  });
  return (
    <section className="card p-5">
      <div className="flex flex-wrap items-center gap-3">
        <div>
          <h2 className="font-semibold">{t.integrity.verify}</h2>
          <ActionError error={verify.error} className="mt-1" />
          {!verify.error && (
            <Outcome count={events.length} verdicts={verdicts} running={verify.isPending} />
          )}
        </div>
        <Button
          Icon={ShieldCheck}
          look="primary"
          className="no-print ml-auto"
          disabled={verify.isPending || events.length === 0}
          onClick={() => verify.mutate()}
        >
          {t.integrity.verifyLatest({ count: events.length })}
        </Button>
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
  const Icon = broken === 0 ? CircleCheck : CircleX;
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
      <Icon aria-hidden className="size-4 shrink-0" />
      {broken === 0 ? t.integrity.verified({ count }) : t.integrity.broken({ count: broken })}
    </p>
  );
}

function Checked({ events, verdicts }: { events: readonly AuditEvent[]; verdicts: Verdicts }) {
  const { t, formats } = useReader();
  return (
    <ol className="mt-4 grid gap-x-8 border-t border-line pt-2 text-xs md:grid-cols-2">
      {events.map((event) => {
        const code = verdicts.get(event.id);
        const name = revealed(event.resource.name ?? wordOf(t.resources, event.resource.type));
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

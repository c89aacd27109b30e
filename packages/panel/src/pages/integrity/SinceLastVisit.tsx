import type { Checkpoint } from '@indelible/protocol';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { GitCommitVertical, ShieldAlert } from 'lucide-react';
import { useState } from 'react';
import { AppLink } from '../../components/AppLink.tsx';
import { Button } from '../../components/Button.tsx';
import { ConfirmSheet } from '../../components/Sheet.tsx';
import { type Texts, useTexts } from '../../i18n/texts.tsx';
import { paths } from '../../paths.ts';
import type { CheckedCheckpoint } from '../../proof/check-checkpoint.ts';
import { checkpointQuery } from '../../proof/checkpoint-query.ts';
import { useSession } from '../../session/session-context.tsx';
import { Card } from './Card.tsx';

const alarms = ['rewritten', 'otherLog', 'lost'];

/** How the log relates to the one that this browser saw; another one can be accepted. */
export function SinceLastVisit({ checked }: { checked: CheckedCheckpoint }) {
  const t = useTexts();
  const { since, checkpoint } = checked;
  if (checkpoint === null) return null;
  const isAlarm = alarms.includes(since.kind);
  const Icon = isAlarm ? ShieldAlert : GitCommitVertical;
  return (
    <Card title={t.integrity.history}>
      <p
        role={isAlarm ? 'alert' : undefined}
        className={`flex gap-2.5 text-pretty ${isAlarm ? 'font-medium text-del' : 'text-muted'}`}
      >
        <Icon aria-hidden className={`mt-0.5 size-4 shrink-0 ${isAlarm ? '' : 'text-add'}`} />
        <span className="min-w-0 wrap-anywhere">{historyText(t, since, checkpoint)}</span>
      </p>
      {'origin' in since && (
        <div className="mt-3 flex flex-wrap items-center gap-x-4 gap-y-2">
          {'eventId' in since && (
            <AppLink href={paths.event(since.eventId)} className="link">
              {t.integrity.reopening}
            </AppLink>
          )}
          <CompareFromNow checked={checked} checkpoint={checkpoint} />
        </div>
      )}
    </Card>
  );
}

function historyText(
  { integrity }: Texts,
  since: CheckedCheckpoint['since'],
  { size: now }: Checkpoint,
): string {
  if (since.kind === 'first') return integrity.firstVisit;
  if (since.kind === 'same') return integrity.unchanged;
  if (since.kind === 'rewritten') return integrity.rewritten;
  if (since.kind === 'otherLog') return integrity.otherLog(since);
  if ('eventId' in since) return integrity[since.kind](since);
  return integrity[since.kind]({ before: since.size, now });
}

/** Ends the comparison with the former log, of which this browser then knows nothing more. */
function CompareFromNow(props: { checked: CheckedCheckpoint; checkpoint: Checkpoint }) {
  const { checked, checkpoint } = props;
  const t = useTexts();
  const { tenant } = useSession();
  const queries = useQueryClient();
  const [isAsking, setAsking] = useState(false);
  const compare = useMutation({
    mutationFn: async () => {
      const { compareFromNow } = await import('../../proof/check-checkpoint.ts');
      compareFromNow(checkpoint, tenant.id);
      const { queryKey } = checkpointQuery(tenant.id);
      queries.setQueryData(queryKey, { ...checked, since: { kind: 'first' } });
    },
  });
  const close = () => setAsking(false);
  return (
    <>
      <Button className="no-print" onClick={() => setAsking(true)}>
        {t.integrity.fromNow}
      </Button>
      {isAsking && (
        <ConfirmSheet
          title={t.integrity.fromNow}
          confirm={t.integrity.compare}
          action={compare}
          close={close}
        >
          <p className="text-muted text-pretty">{t.integrity.fromNowText}</p>
        </ConfirmSheet>
      )}
    </>
  );
}

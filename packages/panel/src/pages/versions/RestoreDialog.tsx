import type { Restore } from '@indelible/client';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { PlugZap, Undo2 } from 'lucide-react';
import { type ReactNode, useEffect, useMemo } from 'react';
import { client } from '../../api.ts';
import { Button } from '../../components/Button.tsx';
import { ChangedText } from '../../components/ChangedText.tsx';
import { Sheet } from '../../components/Sheet.tsx';
import { ActionError } from '../../components/States.tsx';
import { Verdict } from '../../components/Verdict.tsx';
import { useTexts } from '../../i18n/texts.tsx';
import { useSession } from '../../session/session-context.tsx';
import { fieldPairs } from './fields.ts';
import type { Version } from './versions.ts';

interface RestoreDialogProps {
  target: Version;
  current: Version;
  close: () => void;
}

const pollMs = 1_000;

/** The changes of a restore, a confirmation, and the answer of the tenant's application. */
export default function RestoreDialog({ target, current, close }: RestoreDialogProps) {
  const t = useTexts();
  const { tenant } = useSession();
  const queries = useQueryClient();
  const { event, of } = target;
  const request = useMutation({ mutationFn: () => client.restore(event.id, of) });
  const id = request.data?.id;
  const progress = useQuery({
    queryKey: ['restore', id],
    queryFn: () => client.restores.get(id ?? ''),
    enabled: id !== undefined,
    refetchInterval: ({ state }) => (isOpen(state.data ?? request.data) ? pollMs : false),
  });
  const restore = progress.data ?? request.data;
  const settled = restore !== undefined && !isOpen(restore);
  useEffect(() => {
    if (settled) void queries.invalidateQueries({ queryKey: ['versions'] });
  }, [settled, queries]);
  const name = event.resource.name ?? event.resource.id;
  if (!tenant.restoreUrl) {
    return (
      <Sheet title={t.restore.unavailableTitle} close={close}>
        <PlugZap aria-hidden className="mb-2 size-6 text-faint" />
        <p className="text-muted text-pretty">{t.restore.unavailableText}</p>
        <Buttons>
          <Button look="primary" onClick={close}>
            {t.buttons.close}
          </Button>
        </Buttons>
      </Sheet>
    );
  }
  const busy = request.isPending || (restore !== undefined && !settled);
  return (
    <Sheet title={t.restore.title({ name })} close={close} dismissable={!busy} width="max-w-2xl">
      {settled ? (
        <Outcome restore={restore} />
      ) : (
        <>
          <p className="text-muted text-pretty">{t.restore.intro}</p>
          <Changes target={target} current={current} />
        </>
      )}
      <ActionError error={request.error} />
      <Buttons>
        <Button disabled={busy} onClick={close}>
          {settled ? t.buttons.close : t.buttons.cancel}
        </Button>
        {!settled && (
          <Button Icon={Undo2} look="primary" disabled={busy} onClick={() => request.mutate()}>
            {busy ? t.restore.working : t.restore.confirm}
          </Button>
        )}
      </Buttons>
    </Sheet>
  );
}

const isOpen = (restore: Restore | undefined) => restore?.status === 'requested';

function Buttons({ children }: { children: ReactNode }) {
  return <div className="mt-5 flex justify-end gap-2">{children}</div>;
}

function Changes({ target, current }: { target: Version; current: Version }) {
  const t = useTexts();
  const pairs = useMemo(
    () => fieldPairs(current.state, target.state).filter(({ same }) => !same),
    [current, target],
  );
  if (pairs.length === 0) return <p className="mt-3 font-medium">{t.restore.nothing}</p>;
  return (
    <div className="mt-3 max-h-[45vh] overflow-auto rounded-lg border border-line">
      <table className="w-full table-fixed border-collapse text-left text-[0.8125rem]">
        <thead>
          <tr className="border-b border-line text-xs text-faint">
            <th scope="col" className="px-3 py-2 font-medium">
              {t.detail.field}
            </th>
            <th scope="col" className="px-3 py-2 font-medium">
              {t.versions.current}
            </th>
            <th scope="col" className="px-3 py-2 font-medium">
              {t.restore.target}
            </th>
          </tr>
        </thead>
        <tbody>
          {pairs.map(({ position, field, left, right }) => (
            <tr key={position} className="border-b border-line align-top last:border-0">
              <th
                scope="row"
                className="px-3 py-1.5 font-mono text-xs font-normal break-all text-muted"
              >
                {field}
              </th>
              <td className="px-3 py-1.5">
                <ChangedText from={left} to={right} side="from" />
              </td>
              <td className="px-3 py-1.5">
                <ChangedText from={left} to={right} side="to" />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Outcome({ restore }: { restore: Restore }) {
  const t = useTexts();
  const applied = restore.status === 'applied';
  const refused = restore.status === 'refused';
  const title = applied ? t.restore.applied : refused ? t.restore.refused : t.restore.failed;
  return (
    <Verdict look={applied ? 'good' : 'bad'} title={title} className="mt-2">
      {restore.reason !== null && <p dir="auto">“{restore.reason}”</p>}
      {!refused && <p>{applied ? t.restore.appliedText : t.restore.failedText}</p>}
    </Verdict>
  );
}

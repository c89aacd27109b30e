import type { Restore } from '@indelible/client';
import { callFailures, revealed } from '@indelible/protocol';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Undo2 } from 'lucide-react';
import { useEffect, useMemo, useState } from 'react';
import { restoreFailure } from '../../../../../locales/failure-text.ts';
import { client } from '../../api.ts';
import { Button } from '../../components/Button.tsx';
import { ScrollRegion } from '../../components/ScrollRegion.tsx';
import { Sheet } from '../../components/Sheet.tsx';
import { ActionError } from '../../components/States.tsx';
import { Verdict } from '../../components/Verdict.tsx';
import { useTexts } from '../../i18n/texts.tsx';
import { StateTable } from './StateTable.tsx';
import { holdsMasked, type StateNode, stateTree } from './state-tree.ts';
import { useVersionText } from './use-version-text.ts';
import type { Version } from './versions.ts';

interface RestoreDialogProps {
  target: Version;
  current: Version;
  close: () => void;
}

const pollMs = 1_000;

/** The changes of a restore to choose from, and the answer of the tenant's application. */
export function RestoreDialog({ target, current, close }: RestoreDialogProps) {
  const t = useTexts();
  const version = useVersionText();
  const choice = useFieldChoice(target, current);
  const queries = useQueryClient();
  const { event, of } = target;
  const request = useMutation({ mutationFn: () => client.restore(event.id, of, choice.fields) });
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
  const name = revealed(event.resource.name ?? event.resource.id);
  const busy = request.isPending || (restore !== undefined && !settled);
  return (
    <Sheet title={t.restore.title({ name })} close={close} dismissable={!busy} width="max-w-2xl">
      {settled ? (
        <Outcome restore={restore} />
      ) : (
        <>
          <p className="font-medium">{version.name(target)}</p>
          <p className="mt-1 text-muted text-pretty">{t.restore.intro}</p>
          <Changes choice={choice} />
        </>
      )}
      <ActionError error={request.error} />
      <div className="mt-5 flex justify-end gap-2">
        <Button disabled={busy} onClick={close}>
          {settled ? t.buttons.close : t.buttons.cancel}
        </Button>
        {!settled && (
          <Button
            Icon={Undo2}
            look="primary"
            disabled={busy || choice.isEmpty}
            onClick={() => request.mutate()}
          >
            {busy ? t.restore.working : t.restore.confirm}
          </Button>
        )}
      </div>
    </Sheet>
  );
}

const isOpen = (restore: Restore | undefined) => restore?.status === 'requested';

/** The fields that would change, and which of them the reader wants. */
function useFieldChoice(target: Version, current: Version) {
  const tree = useMemo(() => stateTree(current.state, target.state), [current, target]);
  const [left, setLeft] = useState<ReadonlySet<string>>(new Set());
  const changing = tree.filter(({ differing }) => differing > 0).map(({ name }) => name);
  const isMasked = (name: string) => holdsMasked(target.state?.[name]);
  const isChosen = (name: string) => !isMasked(name) && !left.has(name);
  const chosen = changing.filter(isChosen);
  const isWhole = !holdsMasked(target.state) && chosen.length === changing.length;
  const toggle = (name: string) => {
    const next = new Set(left);
    if (!next.delete(name)) next.add(name);
    setLeft(next);
  };
  return {
    tree,
    // Fields of a deleted resource cannot be set.
    canChoose: current.state !== null,
    isMasked,
    isChosen,
    toggle,
    isEmpty: chosen.length === 0 && changing.length > 0,
    /** Undefined: the whole state. */
    fields: isWhole ? undefined : chosen,
  };
}

function Changes({ choice }: { choice: ReturnType<typeof useFieldChoice> }) {
  const t = useTexts();
  const { tree, canChoose, isMasked, isChosen, toggle } = choice;
  const changing = tree.filter(({ differing }) => differing > 0);
  if (changing.length === 0) return <p className="mt-3 font-medium">{t.restore.nothing}</p>;
  return (
    <ScrollRegion
      label={t.restore.target}
      className="@container mt-3 max-h-[45vh] rounded-lg border border-line"
    >
      <StateTable
        tree={tree}
        onlyDifferences
        heads={[t.versions.current, t.restore.target]}
        {...(canChoose && {
          choice: ({ name }: StateNode) => (
            <label className="-my-1 grid size-6 shrink-0 place-items-center">
              <input
                type="checkbox"
                className="size-4 shrink-0 accent-accent"
                aria-label={t.restore.field({ name })}
                title={isMasked(name) ? t.restore.masked : undefined}
                disabled={isMasked(name)}
                checked={isChosen(name)}
                onChange={() => toggle(name)}
              />
            </label>
          ),
        })}
      />
    </ScrollRegion>
  );
}

function Outcome({ restore }: { restore: Restore }) {
  const t = useTexts();
  const { status, reason } = restore;
  const applied = status === 'applied';
  const refused = status === 'refused';
  const title = applied ? t.restore.applied : refused ? t.restore.refused : t.restore.failed;
  const isOwn = refused && reason !== callFailures.refusedSilently;
  return (
    <Verdict look={applied ? 'good' : 'bad'} title={title} className="mt-2">
      {reason !== null && (
        <p dir="auto">
          {isOwn ? `“${revealed(reason)}”` : restoreFailure(t.webhooks.failures, reason)}
        </p>
      )}
      {!refused && <p>{applied ? t.restore.appliedText : t.restore.failedText}</p>}
    </Verdict>
  );
}

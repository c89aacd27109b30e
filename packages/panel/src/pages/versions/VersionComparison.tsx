import { Undo2 } from 'lucide-react';
import { lazy, Suspense, useMemo, useState } from 'react';
import { ChangedText } from '../../components/ChangedText.tsx';
import { isNoText } from '../../components/NoText.tsx';
import { ScrollRegion } from '../../components/ScrollRegion.tsx';
import { useTexts } from '../../i18n/texts.tsx';
import { useMay } from '../../session/session-context.tsx';
import { type FieldPair, fieldPairs } from './fields.ts';
import { useVersionText } from './use-version-text.ts';
import type { Version } from './versions.ts';

const RestoreDialog = lazy(() => import('./RestoreDialog.tsx'));

interface VersionComparisonProps {
  left: Version;
  right: Version;
  current: Version;
}

/** Two versions field by field: differences are marked, equal fields can be hidden. */
export function VersionComparison({ left, right, current }: VersionComparisonProps) {
  const t = useTexts();
  const [onlyDifferences, setOnlyDifferences] = useState(false);
  const pairs = useMemo(() => fieldPairs(left.state, right.state), [left, right]);
  const differing = pairs.filter(({ same }) => !same).length;
  const shown = onlyDifferences ? pairs.filter(({ same }) => !same) : pairs;
  return (
    <div className="min-w-0">
      <div className="mb-2 flex min-h-8 flex-wrap items-center gap-x-4">
        <p role="status" className="font-medium">
          {differing === 0 ? t.versions.same : t.versions.differing({ count: differing })}
        </p>
        <label className="no-print ml-auto flex min-h-6 items-center gap-2 text-[0.8125rem] text-muted">
          <input
            type="checkbox"
            className="size-4 accent-accent"
            checked={onlyDifferences}
            onChange={(event) => setOnlyDifferences(event.target.checked)}
          />
          {t.versions.onlyDifferences}
        </label>
      </div>
      <ScrollRegion label={t.versions.title} className="rounded-xl border border-line">
        <table className="w-full min-w-xl table-fixed border-collapse text-left text-[0.8125rem]">
          <thead>
            <tr className="border-b border-line align-top">
              <th scope="col" className="w-1/4 px-3 py-2.5 text-xs font-medium text-faint">
                {t.detail.field}
              </th>
              <SideHead name={t.versions.left} version={left} current={current} />
              <SideHead name={t.versions.right} version={right} current={current} />
            </tr>
          </thead>
          <tbody>
            {shown.map((pair) => (
              <FieldRow key={pair.position} pair={pair} />
            ))}
          </tbody>
        </table>
      </ScrollRegion>
    </div>
  );
}

function SideHead(props: { name: string; version: Version; current: Version }) {
  const { name, version, current } = props;
  const t = useTexts();
  const { when, who } = useVersionText()(version);
  const [restoring, setRestoring] = useState(false);
  const mayRestore = useMay('restore:write');
  return (
    <th scope="col" className="border-l border-line px-3 py-2.5 font-normal">
      <p className="text-2xs text-faint">{name}</p>
      <p className="flex flex-wrap items-center gap-x-2 font-medium tabular-nums">
        {when}
        {version.isCurrent && <span className="badge badge-accent">{t.versions.current}</span>}
        {version.state === null && <span className="badge badge-del">{t.versions.deleted}</span>}
      </p>
      <p className="truncate text-xs text-muted">{who}</p>
      {!version.isCurrent && version.state !== null && (
        <button
          type="button"
          className="no-print btn mt-2 h-7 text-xs"
          disabled={!mayRestore}
          title={mayRestore ? undefined : t.restore.notAllowed}
          onClick={() => setRestoring(true)}
        >
          <Undo2 aria-hidden className="size-3.5!" />
          {t.restore.button}
        </button>
      )}
      <Suspense>
        {restoring && (
          <RestoreDialog target={version} current={current} close={() => setRestoring(false)} />
        )}
      </Suspense>
    </th>
  );
}

function FieldRow({ pair }: { pair: FieldPair }) {
  const { field, left, right, same } = pair;
  return (
    <tr
      className={`border-b border-line align-top last:border-0 ${same ? '' : 'bg-accent-soft/40'}`}
    >
      <th scope="row" className="px-3 py-1.5 font-mono text-xs font-normal break-all text-muted">
        {field}
      </th>
      {(['from', 'to'] as const).map((side) => (
        <td key={side} className="border-l border-line px-3 py-1.5">
          {same && !isNoText(left) ? (
            <span dir="auto" className="break-words whitespace-pre-wrap text-muted">
              {String(left)}
            </span>
          ) : (
            <ChangedText from={left} to={right} side={side} />
          )}
        </td>
      ))}
    </tr>
  );
}

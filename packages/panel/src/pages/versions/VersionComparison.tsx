import { Undo2 } from 'lucide-react';
import { useMemo, useState } from 'react';
import { Button } from '../../components/Button.tsx';
import { Checkbox } from '../../components/fields.tsx';
import { ScrollRegion } from '../../components/ScrollRegion.tsx';
import { useTexts } from '../../i18n/texts.tsx';
import { useMayRestore } from '../../session/session-context.tsx';
import { RestoreDialog } from './RestoreDialog.tsx';
import { StateTable } from './StateTable.tsx';
import { differingIn, stateTree } from './state-tree.ts';
import { useVersionText } from './use-version-text.ts';
import type { Version } from './versions.ts';

interface VersionComparisonProps {
  left: Version;
  right: Version;
  current: Version;
}

/** Two versions as one tree: differences are marked, equal fields are folded or hidden. */
export function VersionComparison({ left, right, current }: VersionComparisonProps) {
  const t = useTexts();
  const [onlyDifferences, setOnlyDifferences] = useState(false);
  const tree = useMemo(() => stateTree(left.state, right.state), [left, right]);
  const differing = differingIn(tree);
  return (
    <div className="min-w-0">
      <div className="mb-2 flex min-h-8 flex-wrap items-center gap-x-4">
        <p role="status" className="font-medium">
          {differing === 0 ? t.versions.same : t.versions.differing({ count: differing })}
        </p>
        <Checkbox
          className="no-print ml-auto min-h-6 text-[0.8125rem] text-muted"
          checked={onlyDifferences}
          change={setOnlyDifferences}
        >
          {t.versions.onlyDifferences}
        </Checkbox>
      </div>
      <ScrollRegion label={t.versions.title} className="@container rounded-xl border border-line">
        <StateTable
          tree={tree}
          onlyDifferences={onlyDifferences}
          heads={[
            <SideHead key="left" name={t.detail.before} version={left} current={current} />,
            <SideHead key="right" name={t.detail.after} version={right} current={current} />,
          ]}
        />
      </ScrollRegion>
    </div>
  );
}

function SideHead(props: { name: string; version: Version; current: Version }) {
  const { name, version, current } = props;
  const t = useTexts();
  const { when, who } = useVersionText();
  const [restoring, setRestoring] = useState(false);
  const mayRestore = useMayRestore();
  return (
    <>
      <p className="text-2xs text-faint">{name}</p>
      <p className="flex flex-wrap items-center gap-x-2 font-medium tabular-nums">
        {when(version)}
        {version.isCurrent && <span className="badge badge-accent">{t.versions.current}</span>}
        {version.state === null && <span className="badge badge-del">{t.versions.deleted}</span>}
      </p>
      <p className="text-xs wrap-anywhere text-muted">{who(version)}</p>
      {!version.isCurrent && version.state !== null && mayRestore(version.event) && (
        <Button
          Icon={Undo2}
          className="no-print mt-2 h-auto min-h-7 text-left text-xs whitespace-normal"
          onClick={() => setRestoring(true)}
        >
          {t.restore.button}
        </Button>
      )}
      {restoring && (
        <RestoreDialog target={version} current={current} close={() => setRestoring(false)} />
      )}
    </>
  );
}

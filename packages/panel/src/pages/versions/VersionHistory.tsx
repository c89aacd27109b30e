import { ActionLabel } from '../../components/ActionLabel.tsx';
import { useTexts, wordOf } from '../../i18n/texts.tsx';
import { useVersionText } from './use-version-text.ts';
import type { Version } from './versions.ts';

interface VersionHistoryProps {
  versions: readonly Version[];
  chosen: { left: Version; right: Version } | null;
  choose: (side: 'left' | 'right', key: string) => void;
}

/** The versions, newest first, with one choice for each side. */
export function VersionHistory({ versions, chosen, choose }: VersionHistoryProps) {
  const t = useTexts();
  return (
    <section aria-label={t.versions.history} className="no-print mb-6">
      <div className="flex gap-2 border-b border-line pb-1.5 pl-1 text-2xs text-faint">
        <span className="w-9 text-center">{t.versions.left}</span>
        <span className="w-9 text-center">{t.versions.right}</span>
      </div>
      <ol className="max-h-80 overflow-y-auto xl:max-h-[calc(100dvh-12rem)]">
        {versions.map((version) => (
          <li
            key={version.key}
            className="flex items-start gap-2 border-b border-line py-2 pl-1 last:border-0"
          >
            <SideChoice side="left" version={version} chosen={chosen?.left} choose={choose} />
            <SideChoice side="right" version={version} chosen={chosen?.right} choose={choose} />
            <VersionName version={version} />
          </li>
        ))}
      </ol>
    </section>
  );
}

interface SideChoiceProps {
  side: 'left' | 'right';
  version: Version;
  chosen: Version | undefined;
  choose: VersionHistoryProps['choose'];
}

function SideChoice({ side, version, chosen, choose }: SideChoiceProps) {
  const t = useTexts();
  const { when } = useVersionText()(version);
  return (
    <span className="grid h-6 w-9 place-items-center">
      <input
        type="radio"
        name={`version-${side}`}
        className="size-4 accent-accent"
        aria-label={side === 'left' ? t.versions.pickLeft(when) : t.versions.pickRight(when)}
        checked={chosen?.key === version.key}
        onChange={() => choose(side, version.key)}
      />
    </span>
  );
}

function VersionName({ version }: { version: Version }) {
  const t = useTexts();
  const { when } = useVersionText()(version);
  const { event, of, isCurrent } = version;
  return (
    <div className="min-w-0 flex-1 text-[0.8125rem] leading-snug">
      <p className="flex flex-wrap items-center gap-x-2 tabular-nums">
        {when}
        {isCurrent && <span className="badge badge-accent">{t.versions.current}</span>}
      </p>
      {of === 'after' && (
        <p className="truncate text-xs text-faint">
          <ActionLabel action={event.action} />{' '}
          {t.versions.by(event.actor.email ?? wordOf({}, event.actor.role))}
        </p>
      )}
    </div>
  );
}

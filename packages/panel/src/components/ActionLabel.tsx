import { type Outcome, outcomeSaid } from '@indelible/protocol';
import { useTexts, wordOf } from '../i18n/texts.tsx';

const tones: Readonly<Record<string, string>> = {
  create: 'bg-add',
  connect: 'bg-add',
  restore: 'bg-accent',
  update: 'bg-accent',
  publish: 'bg-accent',
  delete: 'bg-del',
  erase: 'bg-del',
  disconnect: 'bg-del',
  session_forced: 'bg-del',
};

interface ActionLabelProps {
  action: string;
  /** What the event says; a badge beside the label says it in words. */
  outcome?: Outcome | null;
}

/** An action in words, with a dot in the colour of its kind: create, change, remove, read, fail. */
export function ActionLabel({
  action,
  outcome = outcomeSaid(undefined, action),
}: ActionLabelProps) {
  const t = useTexts();
  const failed = outcome === 'failure' || outcome === 'denied';
  const tone = failed ? 'bg-del' : Object.hasOwn(tones, action) ? tones[action] : 'bg-edge';
  return (
    <span className="inline-flex max-w-full items-center gap-2" title={action}>
      <span aria-hidden className={`size-1.5 shrink-0 rounded-full ${tone}`} />
      <span className="truncate">{wordOf(t.actions, action)}</span>
    </span>
  );
}

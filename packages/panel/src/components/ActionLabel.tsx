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
  login_failed: 'bg-del',
  session_forced: 'bg-del',
};

/** An action in words, with a dot in the colour of its kind: create, change, remove or read. */
export function ActionLabel({ action }: { action: string }) {
  const t = useTexts();
  const tone = Object.hasOwn(tones, action) ? tones[action] : 'bg-edge';
  return (
    <span className="inline-flex items-center gap-2" title={action}>
      <span aria-hidden className={`size-1.5 shrink-0 rounded-full ${tone}`} />
      <span className="truncate">{wordOf(t.actions, action)}</span>
    </span>
  );
}

import type { AuditEvent } from '@indelible/client';
import { Ban, Check, X } from 'lucide-react';
import { useTexts, wordOf } from '../i18n/texts.tsx';
import { outcomeIn } from './outcome-in.ts';
import { Value } from './Value.tsx';

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

/** An action in words, with a dot in the colour of its kind: create, change, remove, read, fail. */
export function ActionLabel({ event }: { event: AuditEvent }) {
  const t = useTexts();
  const { action } = event;
  const outcome = outcomeIn(event);
  const failed = outcome === 'failure' || outcome === 'denied';
  const tone = failed ? 'bg-del' : Object.hasOwn(tones, action) ? tones[action] : 'bg-edge';
  return (
    <span className="inline-flex max-w-full items-center gap-2 align-top" title={action}>
      <span aria-hidden className={`size-1.5 shrink-0 rounded-full ${tone}`} />
      <span className="truncate">{wordOf(t.actions, action)}</span>
    </span>
  );
}

/** The action as a value that can be filtered by. */
export function ActionValue({ event }: { event: AuditEvent }) {
  const t = useTexts();
  const { action } = event;
  return (
    <Value facet="action" value={action} label={wordOf(t.actions, action)}>
      <ActionLabel event={event} />
    </Value>
  );
}

const looks = {
  success: { Icon: Check, look: 'badge-add' },
  failure: { Icon: X, look: 'badge-del' },
  denied: { Icon: Ban, look: 'badge-del' },
};

/** How the action ended, as a word and a sign; nothing if the event does not say it. */
export function OutcomeBadge({ event }: { event: AuditEvent }) {
  const t = useTexts();
  const outcome = outcomeIn(event);
  if (outcome === null) return null;
  const { Icon, look } = looks[outcome];
  const text = t.outcomes[outcome];
  return (
    <Value facet="outcome" value={outcome} label={text}>
      <span className={`badge ${look}`}>
        <Icon aria-hidden />
        {text}
      </span>
    </Value>
  );
}

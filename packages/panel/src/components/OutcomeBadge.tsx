import type { AuditEvent } from '@indelible/client';
import { Ban, Check, X } from 'lucide-react';
import { useTexts } from '../i18n/texts.tsx';
import { outcomeIn } from './outcome-in.ts';
import { Value } from './Value.tsx';

const looks = {
  success: { Icon: Check, look: 'badge-add' },
  failure: { Icon: X, look: 'badge-del' },
  denied: { Icon: Ban, look: 'badge-del' },
};

/** How the action ended, as a word and a sign; nothing if the event does not say it. */
export function OutcomeBadge({ event, tabbable }: { event: AuditEvent; tabbable?: boolean }) {
  const t = useTexts();
  const outcome = outcomeIn(event);
  if (outcome === null) return null;
  const { Icon, look } = looks[outcome];
  const text = t.outcomes[outcome];
  return (
    <Value
      facet="outcome"
      value={outcome}
      label={text}
      {...(tabbable !== undefined && { tabbable })}
    >
      <span className={`badge ${look}`}>
        <Icon aria-hidden />
        {text}
      </span>
    </Value>
  );
}

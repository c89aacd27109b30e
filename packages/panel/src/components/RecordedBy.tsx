import type { AuditEvent } from '@indelible/client';
import { BadgeCheck, KeyRound } from 'lucide-react';
import { useTexts } from '../i18n/texts.tsx';

/** Who recorded an event: the service itself, or an API key. */
export function RecordedBy({ by }: { by: AuditEvent['recordedBy'] }) {
  const t = useTexts();
  const own = by.kind === 'service';
  return (
    <span
      className="inline-flex max-w-full items-center gap-1.5"
      title={own ? t.access.byServiceHint : `${t.access.byKeyHint} ${by.id}`}
    >
      {own ? (
        <BadgeCheck aria-hidden className="size-4 shrink-0 text-add" />
      ) : (
        <KeyRound aria-hidden className="size-4 shrink-0 text-faint" />
      )}
      <span className="shrink-0">{own ? t.access.byService : t.actors.roles.api_key}</span>
      {!own && <span className="truncate font-mono text-2xs text-faint">{by.id.slice(0, 8)}</span>}
    </span>
  );
}

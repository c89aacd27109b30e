import type { AuditEvent } from '@indelible/client';
import { Eraser } from 'lucide-react';
import { useTexts } from '../i18n/texts.tsx';
import { paths } from '../paths.ts';
import { emptySearch, onlyValue } from '../search/event-search.ts';
import { AppLink } from './AppLink.tsx';

type Segment = NonNullable<AuditEvent['erased']>[number];

export function isErased({ erased }: AuditEvent, segment: Segment): boolean {
  return erased?.includes(segment) ?? false;
}

/** Marks an erased value, so that it does not look like one that never existed. */
export function ErasedValue() {
  const t = useTexts();
  return <i className="text-muted">{t.erased.value}</i>;
}

/** In a list: names the erased parts of the event. */
export function ErasedBadge({ event }: { event: AuditEvent }) {
  const t = useTexts();
  if (event.erased === undefined) return null;
  const parts = event.erased.map((segment) => t.erased[segment]).join('; ');
  return (
    <span className="badge badge-plain above" title={parts}>
      <Eraser aria-hidden />
      {t.erased.badge}
      <span className="sr-only">: {parts}</span>
    </span>
  );
}

/** In the detail: what was erased, a link to the record of it, and what still verifies. */
export function ErasedNote({ erased }: { erased: readonly Segment[] }) {
  const t = useTexts();
  const records = {
    ...emptySearch,
    facets: onlyValue(onlyValue({}, 'action', 'erase'), 'resource', 'audit_log'),
    range: { kind: 'last', preset: 'all' } as const,
  };
  return (
    <section className="keep rounded-lg bg-sunken px-3 py-2.5">
      <h3 className="flex items-center gap-2 font-medium">
        <Eraser aria-hidden className="size-4 shrink-0 text-faint" />
        {t.erased.title}
      </h3>
      <ul className="mt-1 list-disc pl-10">
        {erased.map((segment) => (
          <li key={segment}>{t.erased[segment]}</li>
        ))}
      </ul>
      <p className="mt-1 pl-6 text-xs text-muted text-pretty">
        {t.erased.text} {t.erased.stays}
      </p>
      <AppLink
        href={paths.events(records)}
        className="no-print link mt-1 ml-6 inline-block text-xs"
      >
        {t.erased.records}
      </AppLink>
    </section>
  );
}

import type { AuditEvent } from '@indelible/client';
import { CopyButton } from '../../components/CopyButton.tsx';
import { ScrollRegion } from '../../components/ScrollRegion.tsx';
import { useTexts } from '../../i18n/texts.tsx';
import { paths } from '../../paths.ts';

/** The event as JSON, and the ways to take it elsewhere. */
export function EventJson({ event }: { event: AuditEvent }) {
  const t = useTexts();
  const json = JSON.stringify(event, null, 2);
  const url = `${location.origin}/api/audit-logs/${event.id}`;
  // The key stays out: whoever runs it puts in their own.
  const curl = `curl -H "Authorization: Bearer $INDELIBLE_API_KEY" '${url}'`;
  const copies = [
    [t.detail.copyId, event.id],
    [t.detail.copyJson, json],
    [t.detail.copyCurl, curl],
    [t.buttons.copyLink, location.origin + paths.event(event.id)],
  ] as const;
  return (
    <>
      <div className="no-print flex flex-wrap gap-1.5">
        {copies.map(([label, text]) => (
          <CopyButton key={label} text={text} className="btn h-7 text-xs [&>svg]:size-3.5">
            {label}
          </CopyButton>
        ))}
      </div>
      <details className="rounded-lg border border-line">
        <summary className="px-3 py-2 text-xs font-semibold text-muted">JSON</summary>
        <ScrollRegion label="JSON" className="max-h-96 border-t border-line p-3">
          <pre className="font-mono text-xs leading-5 break-all whitespace-pre-wrap">{json}</pre>
        </ScrollRegion>
      </details>
    </>
  );
}

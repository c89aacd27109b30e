import { revealed } from '@indelible/protocol';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import { useReader, useTexts } from '../i18n/texts.tsx';
import { checkpointQuery } from '../proof/checkpoint-query.ts';
import { serviceNow } from '../service-clock.ts';
import { useSession } from '../session/session-context.tsx';

/** On a printed page: the tenant, the time of printing and the time zone. */
export function PrintHeader() {
  const { t, formats } = useReader();
  const { tenant, actor } = useSession();
  useCheckpointBeforePrint(tenant.id);
  return (
    <div className="print-only mb-4 border-b px-4 pb-2">
      <p>
        <strong>{revealed(tenant.name)}</strong>
        {tenant.externalId !== null && ` (${revealed(tenant.externalId)})`} · {t.nav.audit}
      </p>
      <p>
        {t.print.printed} {formats.dateTime(serviceNow())} · {actor.email} · {t.zone.label}{' '}
        {formats.timeZone}
      </p>
      <PrintCheckpoint tenantId={tenant.id} />
    </div>
  );
}

/** The checkpoint of the log, if it was requested. */
function PrintCheckpoint({ tenantId }: { tenantId: string }) {
  const t = useTexts();
  const { data } = useQuery({ ...checkpointQuery(tenantId), enabled: false });
  const head = data?.checkpoint;
  return (
    <p className={`mt-1 ${head ? 'font-mono break-all' : ''}`}>
      {head ? t.print.checkpoint({ size: head.size, root: data.rootHex }) : t.print.noCheckpoint}
    </p>
  );
}

/**
 * The browser's print menu does not wait: the page prints a checkpoint loaded before, or says that
 * it is missing.
 */
function useCheckpointBeforePrint(tenantId: string): void {
  const queries = useQueryClient();
  useEffect(() => {
    const fetch = () => void queries.prefetchQuery(checkpointQuery(tenantId));
    window.addEventListener('beforeprint', fetch);
    return () => window.removeEventListener('beforeprint', fetch);
  }, [queries, tenantId]);
}

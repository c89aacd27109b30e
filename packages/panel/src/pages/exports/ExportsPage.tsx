import { type ExportFailure, exportFailures } from '@indelible/protocol';
import { useMutation } from '@tanstack/react-query';
import { useLocation } from '@tanstack/react-router';
import { Download } from 'lucide-react';
import { api, client, type ExportJob } from '../../api.ts';
import { Button } from '../../components/Button.tsx';
import { CopyButton } from '../../components/CopyButton.tsx';
import { PageHead } from '../../components/PageHead.tsx';
import { LoadedList, usePages } from '../../components/paged-list.tsx';
import { ActionError } from '../../components/States.tsx';
import { type Texts, useReader, useTexts } from '../../i18n/texts.tsx';
import { KnownSearch } from '../../search/KnownSearch.tsx';
import { lineOf, useCriteriaTexts } from '../../search/use-criteria-texts.ts';
import { serviceNow } from '../../service-clock.ts';
import { useMay } from '../../session/session-context.tsx';
import { ExportForm } from './ExportForm.tsx';

const pollMs = 1_500;

/** A new export of the search in the address, and the exports made so far. */
export default function ExportsPage() {
  const t = useTexts();
  const mayExport = useMay('exports:write');
  const exports = usePages(['exports'], {
    list: api.exports.list,
    // Only while a job is running, because an unused session must end.
    askAgainMs: (jobs) => jobs.some(({ status }) => isMoving(status)) && pollMs,
  });
  return (
    <>
      <PageHead title={t.nav.exports} intro={t.exports.recorded} />
      <div className="space-y-8 px-4 pb-10 lg:px-6">
        {mayExport ? (
          <KnownSearch>
            <ExportForm started={exports.refetch} />
          </KnownSearch>
        ) : (
          <p className="text-muted">{t.exports.notAllowed}</p>
        )}
        <section>
          <h2 className="mb-2 font-semibold">{t.exports.past}</h2>
          <LoadedList
            query={exports}
            items={exports.items}
            lines={4}
            none={<p className="text-muted">{t.exports.none}</p>}
          >
            {(job) => <ExportItem key={job.id} job={job} changed={exports.refetch} />}
          </LoadedList>
        </section>
      </div>
    </>
  );
}

function isMoving(status: string): boolean {
  return status === 'queued' || status === 'running';
}

const bringIntoView = (item: HTMLElement | null) => item?.scrollIntoView({ block: 'nearest' });

/** A past export: progress, size and expiry. A mail leads to the one that it names. */
function ExportItem({ job, changed }: { job: ExportJob; changed: () => void }) {
  const { t, formats } = useReader();
  const { stored } = useCriteriaTexts();
  const created = formats.dateTime(job.createdAt);
  const moving = isMoving(job.status);
  const isNamed = useLocation({ select: ({ hash }) => hash }) === job.id;
  return (
    <li
      ref={isNamed ? bringIntoView : undefined}
      aria-current={isNamed || undefined}
      className="aria-[current=true]:bg-accent-soft flex flex-wrap items-start gap-x-6 gap-y-2 px-4 py-3 text-[0.8125rem]"
    >
      <div className="min-w-56 flex-1">
        <p className="font-medium tabular-nums">{created}</p>
        <p className="text-xs text-muted">
          {job.requestedBy.email ?? job.requestedBy.id} · {job.format.toUpperCase()} ·{' '}
          {lineOf(stored(job.filters))}
        </p>
        {job.sha256 !== null && <Digest sha256={job.sha256} />}
      </div>
      <div className="w-56">
        <ExportState job={job} />
      </div>
      <div className="flex min-w-28 justify-end">
        {job.status === 'ready' && job.mode === 'job' && (
          <a href={api.exports.downloadPath(job.id)} className="btn" download>
            <Download aria-hidden />
            {t.exports.download}
          </a>
        )}
        {job.status === 'failed' && <AgainButton job={job} changed={changed} />}
        {moving && (
          <Button look="quiet" onClick={() => void client.exports.cancel(job.id).finally(changed)}>
            {t.buttons.cancel}
          </Button>
        )}
      </div>
    </li>
  );
}

/** Makes the same file anew; the failed export stays in the list. */
function AgainButton({ job, changed }: { job: ExportJob; changed: () => void }) {
  const t = useTexts();
  const { filters, format, columns } = job;
  const again = useMutation({
    mutationFn: () => client.exports.create({ filters, format, ...(columns && { columns }) }),
    onSuccess: changed,
  });
  if (!useMay('exports:write')) return null;
  return (
    <div>
      <Button disabled={again.isPending} onClick={() => again.mutate()}>
        {t.error.retry}
      </Button>
      <ActionError error={again.error} className="mt-1 text-xs" />
    </div>
  );
}

function Digest({ sha256 }: { sha256: string }) {
  const t = useTexts();
  return (
    <p className="mt-0.5 flex items-center gap-1 text-2xs text-faint">
      SHA-256 <span className="font-mono">{sha256.slice(0, 16)}…</span>
      <CopyButton text={sha256} label={`${t.buttons.copy}: SHA-256`} />
    </p>
  );
}

const tones: Readonly<Record<string, string>> = {
  ready: 'badge-add',
  failed: 'badge-del',
  queued: 'badge-accent',
  running: 'badge-accent',
};

function ExportState({ job }: { job: ExportJob }) {
  const { t, formats } = useReader();
  const { rowsDone, rowsTotal, bytes, expiresAt, status } = job;
  // A streamed file is not there any more: nothing is ready.
  const shown = status === 'ready' && job.mode === 'stream' ? 'sent' : status;
  const facts = [
    rowsTotal !== null && status === 'ready' && t.exports.rows({ count: rowsTotal }),
    bytes !== null && formats.bytes(bytes),
  ].filter((fact) => fact !== false);
  return (
    <>
      <span className={`badge ${tones[shown] ?? 'badge-plain'}`}>{t.exports.status[shown]}</span>
      {status === 'running' && rowsTotal !== null && (
        <div className="mt-1.5">
          <progress
            className="h-1.5 w-full accent-accent"
            max={Math.max(1, rowsTotal)}
            value={rowsDone ?? 0}
            aria-label={t.exports.status.running}
          />
          <p className="text-2xs text-faint tabular-nums">
            {t.exports.progress({ count: rowsTotal, done: rowsDone ?? 0 })}
          </p>
        </div>
      )}
      <p className="text-xs text-muted tabular-nums">{facts.join(' · ')}</p>
      {shown === 'sent' && <p className="text-2xs text-faint">{t.exports.notStored}</p>}
      {job.error && <p className="text-xs text-del">{failureText(t, job.error)}</p>}
      {status === 'ready' && expiresAt !== null && (
        <p className="text-2xs text-faint">
          {t.exports.expires} {formats.relative(expiresAt, serviceNow())}
        </p>
      )}
    </>
  );
}

/** In the reader's language; a reason that this build does not know stays as it is. */
function failureText({ exports }: Texts, error: string): string {
  const [name] = Object.entries(exportFailures).find(([, text]) => text === error) ?? [];
  return name === undefined ? error : exports.failures[name as ExportFailure];
}

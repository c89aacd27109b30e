import { api } from '../../api.ts';
import { PageHead } from '../../components/PageHead.tsx';
import { OlderButton, usePages } from '../../components/paged-list.tsx';
import { LoadError, Skeleton } from '../../components/States.tsx';
import { useTexts } from '../../i18n/texts.tsx';
import { KnownSearch } from '../../search/KnownSearch.tsx';
import { useMay } from '../../session/session-context.tsx';
import { ExportForm } from './ExportForm.tsx';
import { ExportList } from './ExportList.tsx';

const pollMs = 1_500;

/** A new export of the search in the address, and the exports made so far. */
export default function ExportsPage() {
  const t = useTexts();
  const mayExport = useMay('exports:write');
  const exports = usePages('exports', {
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
          {exports.isPending && <Skeleton lines={4} label={t.events.loading} />}
          {exports.isError && <LoadError error={exports.error} retry={exports.refetch} />}
          {exports.items && <ExportList exports={exports.items} changed={exports.refetch} />}
          <OlderButton list={exports} />
        </section>
      </div>
    </>
  );
}

function isMoving(status: string): boolean {
  return status === 'queued' || status === 'running';
}

import type { SavedSearch } from '@indelible/client';
import { revealed } from '@indelible/protocol';
import { FileCheck2 } from 'lucide-react';
import { api } from '../../api.ts';
import { AppLink } from '../../components/AppLink.tsx';
import { PageHead } from '../../components/PageHead.tsx';
import { LoadedList, usePages } from '../../components/paged-list.tsx';
import { Notice, ToEvents } from '../../components/States.tsx';
import { useReader, useTexts } from '../../i18n/texts.tsx';
import { paths } from '../../paths.ts';
import { lineOf, useCriteriaTexts } from '../../search/use-criteria-texts.ts';
import { unknownTexts } from './UnknownVerdict.tsx';

/** Searches saved as evidence, newest first. */
export default function EvidenceListPage() {
  const t = useTexts();
  const searches = usePages(['searches'], { list: api.searches });
  return (
    <>
      <PageHead title={t.nav.searches} intro={t.evidence.intro} />
      <div className="mx-4 mb-10 lg:mx-6">
        <LoadedList
          query={searches}
          items={searches.items}
          none={
            <Notice title={t.evidence.none} Icon={FileCheck2}>
              <ToEvents />
            </Notice>
          }
        >
          {(evidence) => <Kept key={evidence.id} evidence={evidence} />}
        </LoadedList>
      </div>
    </>
  );
}

function Kept({ evidence }: { evidence: SavedSearch }) {
  const { t, formats } = useReader();
  const criteria = useCriteriaTexts().stored(evidence.filters);
  const { value } = evidence.matched;
  const unknown = unknownTexts(evidence.unknownValues, t);
  return (
    <li className="relative px-4 py-3 text-[0.8125rem] hover:bg-hover">
      <div className="flex flex-wrap items-baseline gap-x-3">
        <AppLink
          href={paths.search(evidence.id)}
          className="font-medium wrap-anywhere after:absolute after:inset-0 hover:underline"
        >
          {revealed(evidence.note ?? criteria.map(({ text }) => text).join(' · '))}
        </AppLink>
        <span className="ml-auto text-xs text-faint tabular-nums">
          {formats.dateTime(evidence.createdAt)}
        </span>
      </div>
      <p className="mt-0.5 text-xs text-muted wrap-anywhere">
        {t.events.count({ count: value })}
        {' · '}
        {lineOf(criteria)}
      </p>
      {unknown.length > 0 && (
        <p className="mt-0.5 text-xs font-medium text-del wrap-anywhere">
          {t.evidence.unknownLine({ values: unknown.join(', ') })}
        </p>
      )}
    </li>
  );
}

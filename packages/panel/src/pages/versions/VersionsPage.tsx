import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { History, ListTree } from 'lucide-react';
import { client } from '../../api.ts';
import { AppLink } from '../../components/AppLink.tsx';
import { isErased } from '../../components/Erased.tsx';
import { PageHead } from '../../components/PageHead.tsx';
import { LoadError, Notice, Skeleton } from '../../components/States.tsx';
import { useTexts, wordOf } from '../../i18n/texts.tsx';
import { paths } from '../../paths.ts';
import { changed, emptySearch, onlyValue } from '../../search/event-search.ts';
import { useGo, useSearchPairs } from '../../use-location.ts';
import { VersionComparison } from './VersionComparison.tsx';
import { VersionHistory } from './VersionHistory.tsx';
import { chosenVersions, type Version, versionsOf } from './versions.ts';

const versionsMax = 200;

/** A resource through time: any two of its versions side by side, and a way back to one of them. */
export default function VersionsPage() {
  const t = useTexts();
  const { resourceId = '' } = useParams({ strict: false });
  const events = useQuery({
    queryKey: ['versions', resourceId],
    queryFn: () => client.page({ resourceId, includeState: true, limit: versionsMax }),
  });
  if (events.isPending) {
    return (
      <>
        <PageHead title={t.versions.title} />
        <Skeleton label={t.events.loading} />
      </>
    );
  }
  if (events.isError) return <LoadError error={events.error} retry={events.refetch} />;
  const versions = versionsOf(events.data.data);
  const erased = events.data.data.filter((event) => isErased(event, 'state')).length;
  const named = versions.find(({ event }) => event.resource.name !== null)?.event;
  const { resource } = named ?? events.data.data[0] ?? {};
  const search = changed(emptySearch, {
    facets: onlyValue({}, 'resourceId', resourceId),
    range: { kind: 'last', preset: 'all' },
  });
  return (
    <>
      <PageHead
        title={resource?.name ?? resourceId}
        aside={
          <span className="text-muted">
            {resource && wordOf(t.resources, resource.type)} · {t.versions.count(versions.length)}
          </span>
        }
        intro={versions.length > 1 ? t.versions.intro : ''}
        actions={
          <AppLink href={paths.events(search)} className="btn">
            <ListTree aria-hidden />
            {t.versions.allEvents}
          </AppLink>
        }
      />
      {erased > 0 && versions.length > 0 && (
        <p className="px-4 pb-3 text-muted lg:px-6">{t.versions.erased(erased)}</p>
      )}
      {versions.length === 0 ? (
        <Notice
          title={erased > 0 ? t.versions.erased(erased) : t.versions.none}
          icon={<History className="mb-1 size-6 text-faint" aria-hidden />}
        />
      ) : (
        <Versions resourceId={resourceId} versions={versions} />
      )}
    </>
  );
}

function Versions({ resourceId, versions }: { resourceId: string; versions: Version[] }) {
  const go = useGo();
  const pairs = new Map(useSearchPairs());
  const chosen = chosenVersions(versions, { left: pairs.get('left'), right: pairs.get('right') });
  const choose = (side: 'left' | 'right', key: string) => {
    const now = { left: chosen?.left.key ?? key, right: chosen?.right.key ?? key };
    go(paths.versions(resourceId, { ...now, [side]: key }), { replace: true });
  };
  const [current] = versions;
  return (
    <div className="gap-6 px-4 pb-10 lg:px-6 xl:grid xl:grid-cols-[18rem_minmax(0,1fr)]">
      <VersionHistory versions={versions} chosen={chosen} choose={choose} />
      {chosen && current && <VersionComparison {...chosen} current={current} />}
    </div>
  );
}

import type { View } from '@indelible/client';
import { revealed } from '@indelible/protocol';
import { Bookmark, Trash2 } from 'lucide-react';
import { useState } from 'react';
import { client } from '../../api.ts';
import { AppLink } from '../../components/AppLink.tsx';
import { IconButton } from '../../components/Button.tsx';
import { PageHead } from '../../components/PageHead.tsx';
import { LoadedList } from '../../components/paged-list.tsx';
import { RemoveSheet } from '../../components/Sheet.tsx';
import { Notice, ToEvents } from '../../components/States.tsx';
import { useTexts } from '../../i18n/texts.tsx';
import { paths } from '../../paths.ts';
import { lineOf, useCriteriaTexts } from '../../search/use-criteria-texts.ts';
import { searchOfView, useViewChange, useViews } from './use-views.ts';

/** Searches under a name: those that the tenant shares, and the reader's own. */
export default function ViewsPage() {
  const t = useTexts();
  const views = useViews({ isAsked: true });
  const none = (
    <Notice title={t.views.none} Icon={Bookmark}>
      <ToEvents />
    </Notice>
  );
  return (
    <>
      <PageHead title={t.nav.views} intro={t.views.intro} />
      <div className="mx-4 mb-10 lg:mx-6">
        <LoadedList query={views} items={views.data} none={none}>
          {(view) => <Row key={view.id} view={view} />}
        </LoadedList>
      </div>
    </>
  );
}

function Row({ view }: { view: View }) {
  const t = useTexts();
  const { all } = useCriteriaTexts();
  const [isLeaving, setLeaving] = useState(false);
  const remove = useViewChange(() => client.views.remove(view.id));
  const { facets, range } = searchOfView(view);
  const name = revealed(view.name);
  const title = t.views.remove({ name });
  return (
    <li className="flex items-start gap-3 px-4 py-3 text-[0.8125rem]">
      <div className="min-w-0 grow">
        <AppLink
          href={paths.view(view.id)}
          dir="auto"
          className="inline-flex min-h-6 min-w-6 items-center font-medium wrap-anywhere hover:underline"
        >
          {name}
        </AppLink>
        <p className="mt-0.5 text-xs text-muted wrap-anywhere">
          {[view.shared ? t.views.shared : t.views.own, lineOf(all(facets, range))].join(' · ')}
        </p>
      </div>
      <IconButton
        Icon={Trash2}
        className="no-print"
        label={title}
        onClick={() => setLeaving(true)}
      />
      {isLeaving && (
        <RemoveSheet
          title={title}
          text={view.shared ? t.views.removeShared : t.views.removeOwn}
          action={remove}
          close={() => setLeaving(false)}
        />
      )}
    </li>
  );
}

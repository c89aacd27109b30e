import type { View } from '@indelible/client';
import { revealed } from '@indelible/protocol';
import { Bookmark, Trash2 } from 'lucide-react';
import { useState } from 'react';
import { client } from '../../api.ts';
import { AppLink } from '../../components/AppLink.tsx';
import { IconButton } from '../../components/Button.tsx';
import { PageHead } from '../../components/PageHead.tsx';
import { List } from '../../components/paged-list.tsx';
import { ConfirmSheet } from '../../components/Sheet.tsx';
import { Notice, QueryState, ToEvents } from '../../components/States.tsx';
import { useTexts } from '../../i18n/texts.tsx';
import { paths } from '../../paths.ts';
import { lineOf, useCriteriaTexts } from '../../search/use-criteria-texts.ts';
import { searchOfView, useViewChange, useViews } from './use-views.ts';

/** Searches under a name: those that the tenant shares, and the reader's own. */
export default function ViewsPage() {
  const t = useTexts();
  const views = useViews({ isAsked: true });
  const [leaving, setLeaving] = useState<View | null>(null);
  return (
    <>
      <PageHead title={t.nav.views} intro={t.views.intro} />
      <QueryState query={views} />
      <List
        className="mx-4 mb-10 lg:mx-6"
        items={views.data}
        none={
          <Notice title={t.views.none} Icon={Bookmark}>
            <ToEvents />
          </Notice>
        }
      >
        {(view) => <Row key={view.id} view={view} remove={() => setLeaving(view)} />}
      </List>
      {leaving && <RemoveView view={leaving} close={() => setLeaving(null)} />}
    </>
  );
}

function Row({ view, remove }: { view: View; remove: () => void }) {
  const t = useTexts();
  const { all } = useCriteriaTexts();
  const { facets, range } = searchOfView(view);
  const name = revealed(view.name);
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
        label={t.views.remove({ name })}
        onClick={remove}
      />
    </li>
  );
}

function RemoveView({ view, close }: { view: View; close: () => void }) {
  const t = useTexts();
  const remove = useViewChange(() => client.views.remove(view.id));
  return (
    <ConfirmSheet
      title={t.views.remove({ name: view.name })}
      confirm={t.buttons.delete}
      isDanger
      action={remove}
      close={close}
    >
      <p className="text-muted">{view.shared ? t.views.removeShared : t.views.removeOwn}</p>
    </ConfirmSheet>
  );
}

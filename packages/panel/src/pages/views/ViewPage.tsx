import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { useEffect } from 'react';
import { client } from '../../api.ts';
import { FailedPage, LoadingPage } from '../../components/States.tsx';
import { useTexts } from '../../i18n/texts.tsx';
import { paths } from '../../paths.ts';
import { useGo } from '../../use-location.ts';
import { searchOfView } from './use-views.ts';

/** The own address of a view, which leads to its events as they are now. */
export default function ViewPage() {
  const t = useTexts();
  const go = useGo();
  const { viewId = '' } = useParams({ strict: false });
  const view = useQuery({
    queryKey: ['view', viewId],
    queryFn: () => client.views.get(viewId),
    staleTime: 0,
    gcTime: 0, // a changed view must not lead to its former search
  });
  const href = view.data && paths.events(searchOfView(view.data));
  useEffect(() => {
    if (href !== undefined) go(href, { replace: true });
  }, [go, href]);
  return view.isError ? <FailedPage query={view} /> : <LoadingPage title={t.nav.views} />;
}

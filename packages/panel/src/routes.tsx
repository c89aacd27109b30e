import { panelRoot } from '@indelible/protocol';
import {
  type AnyRoute,
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  redirect,
} from '@tanstack/react-router';
import { Crash, Missing, Skeleton } from './components/States.tsx';
import { EnterPage } from './pages/enter/EnterPage.tsx';
import { isVisible, type PanelPage, pages } from './pages/registry.ts';
import { paths } from './paths.ts';
import { KnownSearch } from './search/KnownSearch.tsx';
import { SignInGate } from './session/SignInGate.tsx';
import { useSession } from './session/session-context.tsx';
import { Shell } from './shell/Shell.tsx';
// Part of the first load: most visits begin on this page.
import './pages/events/EventsPage.tsx';

const root = createRootRoute({ component: Outlet });

const enter = createRoute({ getParentRoute: () => root, path: paths.enter, component: EnterPage });

const signedIn = createRoute({
  getParentRoute: () => root,
  path: panelRoot,
  component: () => (
    <SignInGate>
      <Shell>
        <Outlet />
      </Shell>
    </SignInGate>
  ),
  notFoundComponent: Missing,
});

const start = createRoute({
  getParentRoute: () => signedIn,
  path: '/',
  beforeLoad: () => {
    throw redirect({ href: paths.events(), replace: true });
  },
});

function routeOf(page: PanelPage, parent: AnyRoute, parentPath: string): AnyRoute {
  const Page = lazyRouteComponent(page.load);
  const Shown = () => {
    if (!isVisible(page, useSession())) return <Missing />;
    const shown = <Page />;
    return page.hasSearch ? <KnownSearch>{shown}</KnownSearch> : shown;
  };
  const preload = async () => void (await Page.preload?.());
  const component = Object.assign(Shown, { preload });
  const path = page.path.slice(parentPath.length + 1);
  return createRoute({ getParentRoute: () => parent, path, component });
}

const pageRoutes = Object.entries<PanelPage>(pages)
  .filter(([, { beside }]) => beside === undefined)
  .map(([name, page]) => {
    const route = routeOf(page, signedIn, panelRoot);
    const beside = Object.values<PanelPage>(pages).filter((other) => other.beside === name);
    return route.addChildren(beside.map((other) => routeOf(other, route, page.path)));
  });

/** The panel's router. Keeps the parameters of an address exactly as written. */
export function createPanelRouter() {
  return createRouter({
    routeTree: root.addChildren([enter, signedIn.addChildren([start, ...pageRoutes])]),
    // The panel reads parameters itself (search/event-search.ts), the same way the service does.
    parseSearch: (text) => ({ text }),
    stringifySearch: ({ text }) => (typeof text === 'string' ? text : ''),
    scrollRestoration: false,
    defaultPendingMs: 150,
    defaultPendingMinMs: 0,
    defaultPendingComponent: () => <Skeleton />,
    defaultNotFoundComponent: Missing,
    // Inside the shell, where a reader can also open another page.
    defaultErrorComponent: Crash,
  });
}

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof createPanelRouter>;
  }
}

import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  redirect,
} from '@tanstack/react-router';
import { Crash, Missing } from './components/States.tsx';
import { EnterPage } from './pages/enter/EnterPage.tsx';
import { EventsPage } from './pages/events/EventsPage.tsx';
import { paths } from './paths.ts';
import { SignInGate } from './session/SignInGate.tsx';
import { Shell } from './shell/Shell.tsx';

const root = createRootRoute({ component: Outlet, errorComponent: Crash });

const enter = createRoute({ getParentRoute: () => root, path: '/enter', component: EnterPage });

const signedIn = createRoute({
  getParentRoute: () => root,
  path: '/settings/audit',
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
    throw redirect({ href: '/settings/audit/events', replace: true });
  },
});

// The list stays where it is while events are opened beside it.
const events = createRoute({
  getParentRoute: () => signedIn,
  path: 'events',
  component: EventsPage,
});

const event = createRoute({
  getParentRoute: () => events,
  path: '$eventId',
  component: lazyRouteComponent(() => import('./pages/events/EventDetail.tsx'), 'EventDetail'),
});

const page = <P extends string>(path: P, component: ReturnType<typeof lazyRouteComponent>) =>
  createRoute({ getParentRoute: () => signedIn, path, component });

const others = [
  page(
    'operator-access',
    lazyRouteComponent(
      () => import('./pages/operator-access/OperatorAccessPage.tsx'),
      'OperatorAccessPage',
    ),
  ),
  // As the page was called when it showed recordings alone.
  createRoute({
    getParentRoute: () => signedIn,
    path: 'recording-access',
    beforeLoad: ({ location: { searchStr } }) => {
      throw redirect({ href: `${paths.sensitiveAccess()}${searchStr}`, replace: true });
    },
  }),
  page(
    'sensitive-access',
    lazyRouteComponent(
      () => import('./pages/sensitive-access/SensitiveAccessPage.tsx'),
      'SensitiveAccessPage',
    ),
  ),
  page(
    'resources/$resourceId',
    lazyRouteComponent(() => import('./pages/versions/VersionsPage.tsx'), 'VersionsPage'),
  ),
  page(
    'exports',
    lazyRouteComponent(() => import('./pages/exports/ExportsPage.tsx'), 'ExportsPage'),
  ),
  page(
    'integrity',
    lazyRouteComponent(() => import('./pages/integrity/IntegrityPage.tsx'), 'IntegrityPage'),
  ),
  page(
    'searches',
    lazyRouteComponent(() => import('./pages/evidence/EvidenceListPage.tsx'), 'EvidenceListPage'),
  ),
  page(
    'searches/$searchId',
    lazyRouteComponent(() => import('./pages/evidence/EvidencePage.tsx'), 'EvidencePage'),
  ),
  page(
    'webhooks',
    lazyRouteComponent(() => import('./pages/webhooks/WebhooksPage.tsx'), 'WebhooksPage'),
  ),
  page(
    'webhooks/$webhookId',
    lazyRouteComponent(() => import('./pages/webhooks/WebhookPage.tsx'), 'WebhookPage'),
  ),
] as const;

/** The panel's router. An address's parameters are kept exactly as they are written. */
export function createPanelRouter() {
  return createRouter({
    routeTree: root.addChildren([
      enter,
      signedIn.addChildren([start, events.addChildren([event]), ...others]),
    ]),
    // The panel reads parameters itself (search/event-search.ts), the same way the service does.
    parseSearch: (text) => ({ text }),
    stringifySearch: ({ text }) => (typeof text === 'string' ? text : ''),
    scrollRestoration: false,
    defaultPendingMs: 150,
    defaultNotFoundComponent: Missing,
  });
}

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof createPanelRouter>;
  }
}

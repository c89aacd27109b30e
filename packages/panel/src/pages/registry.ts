import {
  BellRing,
  Bookmark,
  Download,
  Eye,
  FileCheck2,
  ListTree,
  type LucideIcon,
  ShieldCheck,
  UserRoundSearch,
  Webhook,
} from 'lucide-react';
import type { ReactNode } from 'react';
import type { Session } from '../api.ts';
import type { Texts } from '../i18n/texts.tsx';
import { paths } from '../paths.ts';

/** A page below `/settings/audit`. */
export interface PanelPage {
  /** Its address; `$name` is a parameter. */
  path: string;
  load: () => Promise<{ default: () => ReactNode }>;
  title: (texts: Texts) => string;
  /** For a page in the navigation; other pages are reached by links. */
  nav?: {
    Icon: LucideIcon;
    /** After `g`, this key opens the page. */
    key: string;
  };
  /** Whether its address holds a search, which must be valid. */
  hasSearch?: true;
  /** Whether this session has the page; absent: every session. */
  isVisible?: (session: Session) => boolean;
  /** The name of the page beside which it is shown. */
  beside?: string;
}

const mayWebhooks = ({ scopes }: Session) => scopes.includes('webhooks:write');

/** Every page: routes, navigation, palette, keyboard help and browser tests read this list. */
export const pages = {
  events: {
    path: paths.events(),
    load: () => import('./events/EventsPage.tsx'),
    title: ({ nav }) => nav.events,
    nav: { Icon: ListTree, key: 'e' },
    hasSearch: true,
  },
  event: {
    path: paths.event('$eventId'),
    load: () => import('./events/EventDetail.tsx'),
    title: ({ detail }) => detail.title,
    beside: 'events',
  },
  views: {
    path: paths.views,
    load: () => import('./views/ViewsPage.tsx'),
    title: ({ nav }) => nav.views,
    nav: { Icon: Bookmark, key: 'v' },
  },
  view: {
    path: paths.view('$viewId'),
    load: () => import('./views/ViewPage.tsx'),
    title: ({ nav }) => nav.views,
  },
  'operator-access': {
    path: paths.operatorAccess(),
    load: () => import('./operator-access/OperatorAccessPage.tsx'),
    title: ({ nav }) => nav.operatorAccess,
    nav: { Icon: UserRoundSearch, key: 'o' },
    hasSearch: true,
  },
  'sensitive-access': {
    path: paths.sensitiveAccess(),
    load: () => import('./sensitive-access/SensitiveAccessPage.tsx'),
    title: ({ nav }) => nav.sensitiveAccess,
    nav: { Icon: Eye, key: 'a' },
    hasSearch: true,
    isVisible: ({ sensitiveAccess }) => sensitiveAccess !== null,
  },
  versions: {
    path: paths.versions('$resourceId'),
    load: () => import('./versions/VersionsPage.tsx'),
    title: ({ versions }) => versions.title,
  },
  alerts: {
    path: paths.alerts,
    load: () => import('./alerts/AlertsPage.tsx'),
    title: ({ nav }) => nav.alerts,
    nav: { Icon: BellRing, key: 'l' },
    isVisible: ({ scopes }) => scopes.includes('alerts:write'),
  },
  exports: {
    path: paths.exports(),
    load: () => import('./exports/ExportsPage.tsx'),
    title: ({ nav }) => nav.exports,
    nav: { Icon: Download, key: 'x' },
  },
  integrity: {
    path: paths.integrity,
    load: () => import('./integrity/IntegrityPage.tsx'),
    title: ({ nav }) => nav.integrity,
    nav: { Icon: ShieldCheck, key: 'i' },
  },
  searches: {
    path: paths.searches,
    load: () => import('./evidence/EvidenceListPage.tsx'),
    title: ({ nav }) => nav.searches,
    nav: { Icon: FileCheck2, key: 's' },
  },
  search: {
    path: paths.search('$searchId'),
    load: () => import('./evidence/EvidencePage.tsx'),
    title: ({ evidence }) => evidence.single,
  },
  webhooks: {
    path: paths.webhooks,
    load: () => import('./webhooks/WebhooksPage.tsx'),
    title: ({ nav }) => nav.webhooks,
    nav: { Icon: Webhook, key: 'w' },
    isVisible: mayWebhooks,
  },
  webhook: {
    path: paths.webhook('$webhookId'),
    load: () => import('./webhooks/WebhookPage.tsx'),
    title: ({ nav }) => nav.webhooks,
    isVisible: mayWebhooks,
  },
} satisfies Record<string, PanelPage>;

export type PageName = keyof typeof pages;

export function isVisible(page: PanelPage, session: Session): boolean {
  return page.isVisible?.(session) ?? true;
}

/** The pages in the navigation that this session has, in order. */
export function navigationFor(session: Session) {
  return Object.values<PanelPage>(pages).flatMap(({ nav, ...page }) =>
    nav && isVisible(page, session) ? [{ ...page, ...nav }] : [],
  );
}

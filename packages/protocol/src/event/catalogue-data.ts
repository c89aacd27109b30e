/**
 * The catalogue as plain data: which category an action belongs to, what does not belong into an
 * audit log, and which resources should carry their complete states. `catalogue.ts` gives it its
 * meaning; configuration may add to it and never redefine it.
 */

/** Every value of an event's `category`, in the order in which people are shown them. */
export const categories = [
  'configuration',
  'data_access',
  'security',
  'integration',
  'cross_tenant',
] as const;

/** The category of a word. Words that are not listed are `configuration`. */
export const actionsByCategory = {
  configuration: ['create', 'update', 'delete', 'publish', 'restore'],
  data_access: ['access', 'read', 'view', 'list', 'search', 'play', 'download', 'export'],
  security: [
    'login',
    'logout',
    'login_failed',
    'mfa_configured',
    'password_changed',
    'session_forced',
  ],
  integration: ['connect', 'disconnect', 'push', 'send'],
} as const;

/** Examples for documentation and pickers; any other snake_case word is a resource type too. */
export const resourceTypesByCategory = {
  configuration: [
    'agent',
    'queue',
    'did',
    'ivr',
    'recording_policy',
    'integration',
    'user',
    'user_role',
    'tenant',
    'webhook',
    'api_key',
    'retention',
  ],
  data_access: ['recording', 'transcript', 'export', 'audit_log'],
  security: ['session', 'user'],
  integration: ['oauth', 'crm', 'transcript', 'webhook'],
} as const;

/** Resource types whose changes should carry the complete state before and after. */
export const sensitiveTypes = ['recording_policy', 'ivr', 'user_role'] as const;

/** A refusal holds when both lists do; an absent list holds for every word. */
export interface Refusal {
  actions?: readonly string[];
  resourceTypes?: readonly string[];
  why: string;
}

/** What is never recorded, in the order in which the reasons are looked for. */
export const refusals: readonly Refusal[] = [
  {
    resourceTypes: ['call'],
    why: 'Calls are not audit events: they live in the call-detail record store.',
  },
  {
    actions: ['heartbeat'],
    why: 'Heartbeats are not audit events: they say that a client is alive, not what someone did.',
  },
  {
    actions: ['page_view'],
    why: 'Page views are not audit events: record the access to the data itself instead.',
  },
  {
    actions: ['access', 'view', 'read', 'refresh'],
    resourceTypes: ['dashboard', 'wallboard', 'softphone', 'page'],
    why:
      'Looking at or refreshing a dashboard, wallboard, softphone or page is not an audit event: ' +
      'record changes of its configuration, or the access to the data itself.',
  },
];

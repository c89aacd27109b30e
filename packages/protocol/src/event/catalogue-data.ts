/**
 * The words of events as data: the standard actions, which every catalogue has, and the default
 * catalogue of a contact centre. An operator's CATALOGUE_FILE replaces the default catalogue and
 * adds to the standard actions.
 */

/** Every value of an event's `category`, in display order. */
export const categories = [
  'configuration',
  'data_access',
  'security',
  'integration',
  'cross_tenant',
] as const;

/**
 * The standard actions by category, the same in every catalogue: the service records with them, and
 * a verifier checks their category. Any other action is `configuration`, unless the catalogue gives
 * it a category.
 */
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

/** A category that an action can have; `cross_tenant` follows from the actor. */
export type ActionCategory = keyof typeof actionsByCategory;

/** Matches an event if both lists match; an absent list matches every word. */
export interface Refusal {
  actions?: readonly string[];
  resourceTypes?: readonly string[];
  /** A sentence for the caller. */
  why: string;
}

/** The part of a catalogue that describes events. An absent member adds nothing. */
export interface EventWords {
  /** In addition to the standard ones. */
  actions?: Partial<Record<ActionCategory, readonly string[]>>;
  /** Examples for documentation and editors; any other snake_case word is also a valid type. */
  resourceTypes?: readonly string[];
  /** Resource types whose changes should carry the complete state before and after. */
  sensitiveTypes?: readonly string[];
  /** Resource types whose accesses the panel's page "Sensitive access" counts. */
  accessTypes?: readonly string[];
  /** Events that are refused. The first match gives the reason. */
  notRecordable?: readonly Refusal[];
}

export const contactCenter = {
  resourceTypes: [
    'agent',
    'api_key',
    'audit_log',
    'crm',
    'did',
    'export',
    'integration',
    'ivr',
    'oauth',
    'queue',
    'recording',
    'recording_policy',
    'retention',
    'session',
    'tenant',
    'transcript',
    'user',
    'user_role',
    'webhook',
  ],
  sensitiveTypes: ['recording_policy', 'ivr', 'user_role'],
  accessTypes: ['recording'],
  notRecordable: [
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
  ],
} as const satisfies EventWords;

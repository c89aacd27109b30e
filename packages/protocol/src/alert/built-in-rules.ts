import type { AlertRuleSettings } from './alert-rule.ts';

/** A rule that every tenant can switch on. The dictionaries have its name, why, and what to do. */
export interface BuiltInRule extends Omit<AlertRuleSettings, 'name' | 'notify'> {
  /** Its name in stored rules and in the dictionaries. */
  id: string;
  /** Ordinary traffic sets it off. The others are recommended; docs/alerts.md has the figures. */
  ringsOften?: true;
}

const changes = ['create', 'update', 'delete', 'publish', 'restore'];

export const builtInRules: readonly BuiltInRule[] = [
  {
    id: 'operator_without_reason',
    kind: 'match',
    filters: { crossTenant: ['true'], hasReason: ['false'] },
  },
  {
    id: 'operator_changed_data',
    kind: 'match',
    filters: { crossTenant: ['true'], action: changes },
  },
  {
    id: 'role_granted',
    kind: 'match',
    filters: {
      action: ['create', 'update', 'grant', 'grant_role', 'role_granted', 'role_changed'],
      resource: ['user_role', 'role'],
    },
  },
  {
    id: 'mfa_removed',
    kind: 'match',
    filters: { action: ['mfa_removed', 'mfa_disabled', 'mfa_reset', 'mfa_deleted'] },
  },
  {
    id: 'api_key_made',
    kind: 'match',
    filters: { action: ['create'], resource: ['api_key'] },
  },
  {
    id: 'bulk_export',
    kind: 'threshold',
    filters: { action: ['export', 'access', 'create'], resource: ['export'] },
    count: 5,
    windowMinutes: 60,
    groupBy: 'actor',
  },
  {
    id: 'bulk_delete',
    kind: 'threshold',
    filters: { action: ['delete'] },
    count: 20,
    windowMinutes: 10,
    groupBy: 'actor',
  },
  {
    id: 'impersonation',
    kind: 'match',
    filters: {
      action: ['impersonate', 'impersonation_started', 'act_as', 'login_as', 'assume_role'],
    },
  },
  {
    id: 'retention_changed',
    kind: 'match',
    filters: { action: ['update', 'delete'], resource: ['tenant', 'retention'] },
  },
  {
    id: 'recording_policy_changed',
    kind: 'match',
    filters: { action: [...changes], resource: ['recording_policy'] },
  },
  {
    id: 'webhook_changed',
    kind: 'match',
    filters: { action: ['create', 'update', 'rotate'], resource: ['webhook'] },
  },
  {
    id: 'webhook_stopped',
    kind: 'match',
    filters: { action: ['pause', 'delete'], resource: ['webhook'] },
  },
  {
    id: 'failed_logins_of_account',
    kind: 'threshold',
    filters: { action: ['login_failed'] },
    count: 10,
    windowMinutes: 10,
    groupBy: 'resource',
  },
  {
    id: 'failed_logins_from_address',
    kind: 'threshold',
    filters: { action: ['login_failed'] },
    count: 20,
    windowMinutes: 10,
    groupBy: 'ip',
  },
  {
    id: 'failed_logins_then_success',
    kind: 'threshold',
    filters: { action: ['login_failed'] },
    followedBy: { action: ['login'] },
    count: 10,
    windowMinutes: 10,
    groupBy: 'ip',
  },
  {
    id: 'many_refusals',
    kind: 'threshold',
    filters: { outcome: ['failure', 'denied'], action: ['!login_failed', '!send'] },
    count: 20,
    windowMinutes: 10,
    groupBy: 'actor',
  },
  {
    id: 'recordings_in_bulk',
    kind: 'threshold',
    filters: {
      action: ['access', 'play', 'download', 'export'],
      resource: ['recording', 'transcript'],
    },
    count: 50,
    windowMinutes: 60,
    groupBy: 'actor',
  },
  {
    id: 'unusual_access',
    kind: 'unusual_rate',
    filters: {
      action: ['access', 'play', 'download', 'export'],
      resource: ['recording', 'transcript'],
    },
    count: 50,
    lookbackDays: 28,
    ringsOften: true,
  },
  {
    id: 'passwords_changed_in_bulk',
    kind: 'threshold',
    filters: { action: ['password_changed', 'password_reset'] },
    count: 10,
    windowMinutes: 60,
    groupBy: 'actor',
  },
  {
    id: 'connection_added',
    kind: 'match',
    filters: { action: ['connect'] },
  },
  {
    id: 'source_gap',
    kind: 'match',
    filters: { action: ['report_gap', 'report_silence'], resource: ['source'] },
  },
  {
    id: 'sign_in_from_new_network',
    kind: 'first_seen',
    filters: { action: ['login'] },
    groupBy: 'ip',
    lookbackDays: 30,
    ringsOften: true,
  },
  {
    id: 'first_change_of_kind',
    kind: 'first_seen',
    filters: { category: ['configuration'] },
    groupBy: 'actor',
    lookbackDays: 30,
    ringsOften: true,
  },
  {
    id: 'nothing_recorded',
    kind: 'silence',
    filters: {},
    windowMinutes: 1_440,
    ringsOften: true,
  },
];

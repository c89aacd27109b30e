import type { AlertRuleSettings } from './alert-rule.ts';

/** A rule that every tenant can switch on. */
export interface BuiltInRule extends Omit<AlertRuleSettings, 'notify'> {
  /** Its name in stored rules and in the panel's dictionaries. */
  id: string;
  /** Why it matters. */
  why: string;
  /** What to do when it rings. */
  act: string;
  /** Ordinary traffic rarely sets it off; docs/alerts.md has the figures. */
  recommended: boolean;
}

export const builtInRules: readonly BuiltInRule[] = [
  {
    id: 'operator_without_reason',
    name: 'Operator without a reason',
    why: 'An operator of the service acted on your data and declared no reason.',
    act: 'Ask the operator of the service who it was, and why.',
    kind: 'match',
    filters: { crossTenant: ['true'], hasReason: ['false'] },
    recommended: true,
  },
];

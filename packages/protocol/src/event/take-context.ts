import type { WarningCode } from '../error-codes.ts';
import type { JsonValue } from '../json/canonical.ts';
import { type ContextTexts, contextTexts, valueAt } from './context.ts';
import { contextFields, type EventField, type MemberRule } from './event-fields.ts';
import { externalUuid } from './external-id.ts';
import type { Masker } from './masking.ts';

type Members = Record<string, unknown>;

const none: ContextTexts = { context: null, contextIdentity: null };

/**
 * The fields of version 2 of a sent event whose shape was checked: normalised, secrets masked. An
 * empty value counts as not sent.
 */
export function takeContext(
  event: object,
  tenantId: string,
  masker: Masker,
  warnings: WarningCode[],
): ContextTexts {
  if (contextFields.every((field) => isUnset(valueAt(event, field)))) return none;
  const taken: Members = {};
  for (const field of contextFields) {
    const value = takenValue(field, valueAt(event, field), tenantId);
    if (value === undefined) continue;
    if (field.owner === null) taken[field.name] = value;
    else taken[field.owner] = { ...(taken[field.owner] as Members), [field.name]: value };
  }
  for (const name of maskedFields) {
    const { value, masked } = masker.maskState((taken[name] ?? null) as JsonValue);
    if (!masked) continue;
    taken[name] = value;
    if (!warnings.includes('secret_masked')) warnings.push('secret_masked');
  }
  return contextTexts(taken);
}

/** A host may send a token as the session. Ids are left alone: they must stay distinct. */
const maskedFields = ['metadata', 'via'] as const;

/** What tracers that are switched off send: W3C Trace Context calls it invalid. */
const noTrace = /^0+$/;

function isUnset(value: unknown): boolean {
  if (value === undefined || value === null || value === '') return true;
  return typeof value === 'object' && Object.keys(value).length === 0;
}

function takenValue({ kind, members = {} }: EventField, value: unknown, tenantId: string): unknown {
  if (isUnset(value) || (kind === 'traceId' && noTrace.test(value as string))) return undefined;
  if (kind === 'object') return takenMembers(members, value as Members);
  if (kind !== 'list') return spelt(kind, value);
  return (value as Members[]).map((item) => {
    const taken = takenMembers(members, item);
    // An actor has no type of resource: `type` is not a word there.
    const type = members.type?.kind === 'word' ? String(taken.type) : 'actor';
    taken.id ??= externalUuid(tenantId, type, String(taken.externalId));
    return taken;
  });
}

function takenMembers(rules: Readonly<Record<string, MemberRule>>, object: Members): Members {
  const taken: Members = {};
  for (const [name, { kind }] of Object.entries(rules)) {
    if (!isUnset(object[name])) taken[name] = spelt(kind, object[name]);
  }
  return taken;
}

function spelt(kind: EventField['kind'], value: unknown): unknown {
  return kind === 'uuid' || kind === 'traceId' ? (value as string).toLowerCase() : value;
}

import type { AuditEvent, State } from '@indelible/client';
import { outcomeIn } from '../../components/outcome-in.ts';

/** A resource as it was after an event, or before the first known one. */
export interface Version {
  /** Its name in addresses: the event's id, with `:before` for the state before it. */
  key: string;
  event: AuditEvent;
  /** Which state of the event it is, as a restore names it. */
  of: 'before' | 'after';
  /** Null: deleted. */
  state: State | null;
  isCurrent: boolean;
}

/**
 * The versions in a resource's events (newest first, with states), newest first. `isWhole`: there
 * are no older events.
 */
export function versionsOf(events: readonly AuditEvent[], isWhole: boolean): Version[] {
  const changes = events.filter(isVersion);
  const versions = changes.map((event, index): Version => {
    const { id, after = null } = event;
    return { key: id, event, of: 'after', state: after, isCurrent: index === 0 };
  });
  const first = changes.at(-1);
  if (isWhole && first?.before != null) {
    const key = `${first.id}:before`;
    versions.push({ key, event: first, of: 'before', state: first.before, isCurrent: false });
  }
  return versions;
}

/** Whether the resource was as the event says; the event comes with its states. */
export function isVersion(event: AuditEvent): boolean {
  const hasState = event.before != null || event.after != null;
  return hasState && !isRestoreRecord(event) && !isUnsuccessful(event);
}

/** A change that was denied or failed is no version: the resource was never like that. */
function isUnsuccessful(event: AuditEvent): boolean {
  const outcome = outcomeIn(event);
  return outcome === 'denied' || outcome === 'failure';
}

/** The service's own record of a restore holds the states of the request, not of the resource. */
function isRestoreRecord({ action, recordedBy }: AuditEvent): boolean {
  return action === 'restore' && recordedBy.kind === 'service';
}

/**
 * When the host applied its latest restore, ISO 8601, if it has recorded no change since that was
 * requested; else null. The host may record the change before it answers.
 */
export function unrecordedRestore(events: readonly AuditEvent[]): string | null {
  const records = events.filter(isRestoreRecord);
  const applied = records.find((event) => outcomeIn(event) === 'success');
  const ofSame = records.filter(({ after }) => after?.restoreId === applied?.after?.restoreId);
  const began = Math.min(...ofSame.map(({ sequence }) => sequence));
  const isRecorded = events.some((event) => isVersion(event) && event.sequence > began);
  return applied === undefined || isRecorded || changedNothing(applied, events)
    ? null
    : applied.timestamp;
}

/** Whether the resource already was as the restore sets it: then the host has nothing to record. */
function changedNothing({ after }: AuditEvent, events: readonly AuditEvent[]): boolean {
  const source = events.find(({ id }) => id === after?.eventId);
  const target = after?.to === 'before' ? source?.before : source?.after;
  const current = events.find(isVersion)?.after;
  const fields = after?.fields ?? Object.keys({ ...target, ...current });
  const isEqual = (name: string) =>
    JSON.stringify(target?.[name]) === JSON.stringify(current?.[name]);
  return target != null && Array.isArray(fields) && fields.every(isEqual);
}

/**
 * The two versions of an address, the older one on the left. Default of `right`: the current one;
 * of `left`: the one before the right one. Null if a named one is not there, or has no other.
 */
export function chosenVersions(
  versions: readonly Version[],
  chosen: { left?: string | undefined; right?: string | undefined },
): { left: Version; right: Version } | null {
  const at = (key: string | undefined) => versions.findIndex((version) => version.key === key);
  const right = chosen.right === undefined ? 0 : at(chosen.right);
  const named = at(chosen.left);
  // Another version in its place would be taken for the named one, and restored.
  if (right === -1 || (chosen.left !== undefined && named === -1)) return null;
  const before = right + 1 < versions.length ? right + 1 : right - 1;
  const other = named === -1 || named === right ? before : named;
  const [older, newer] = [versions[Math.max(other, right)], versions[Math.min(other, right)]];
  return older && newer && older !== newer ? { left: older, right: newer } : null;
}

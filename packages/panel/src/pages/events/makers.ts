import type { AuditEvent, Maker } from '@indelible/client';

const marks = ['openedBy', 'keyMadeBy'] as const;

/**
 * The keys behind the session or key that acted, as the service recorded them. A producer's states
 * are its own: what they hold under these names says nothing.
 */
export function makersOf({ recordedBy, before, after }: AuditEvent) {
  if (recordedBy.kind !== 'service') return [];
  const states: Record<string, unknown> = { ...before, ...after };
  return marks.flatMap((mark) => {
    const maker = states[mark];
    return isMaker(maker) ? [{ mark, maker }] : [];
  });
}

function isMaker(value: unknown): value is Maker {
  if (typeof value !== 'object' || value === null) return false;
  const { kind, id } = value as Record<string, unknown>;
  return (kind === 'platform' || kind === 'tenant') && typeof id === 'string';
}

import type { Resource } from './store.ts';

/** What is recorded of a change; the service computes the fields that differ. */
export function changeEvent(current: Resource | null, next: Resource) {
  const { id, type, name } = next;
  const before = current && !current.deleted ? current.state : null;
  const after = next.deleted ? null : next.state;
  const action = before === null ? 'create' : after === null ? 'delete' : 'update';
  return { action, resource: { type, id, name }, before, after };
}

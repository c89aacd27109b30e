import { tenantUuid } from '@indelible/protocol';
import { AppError } from '../http/problem.ts';

/** The tenant of a path or body whose schema was checked: a UUID, or the host's own id. */
export function tenantNamed(name: string): string {
  const id = tenantUuid(name);
  if (id === null) throw new AppError('not_found');
  return id;
}

/** Throws TypeError for a name that cannot be the first part of a `source.id`, or a folder. */
export function requireSourceName(name: string | undefined): void {
  if (name === undefined || /^[a-z0-9][a-z0-9._-]{0,63}$/i.test(name)) return;
  throw new TypeError(
    `the source ${JSON.stringify(name)} is not a name of letters, digits, ".", "_" and "-"`,
  );
}

/**
 * The `source.id` for a tenant. Events that name no tenant (`''`) are numbered apart: their tenant
 * may be one that other events name, and a number that two events have would hide a loss.
 */
export const sourceOf = (source: string, tenantId: string): string =>
  tenantId === '' ? `${source}/default` : source;

/**
 * The URL of a call at `path`, whether the customer entered a base URL or the path of a call: what
 * `known` matches at the end is replaced. A path in front of it (a proxy's) and the query stay.
 */
export function callUrl(entered: string, known: RegExp, path: string): string {
  const url = new URL(entered);
  const base = url.pathname.replace(/\/+$/, '').replace(known, '').replace(/\/+$/, '');
  url.pathname = `${base}${path}`;
  url.hash = '';
  return url.href;
}

/**
 * The URL of a call at `path`, from a base URL or the path of a call: replaces what `known` matches
 * at the end. Keeps a path before it (a proxy's) and the query.
 */
export function callUrl(entered: string, known: RegExp, path: string): string {
  const url = new URL(entered);
  const base = url.pathname.replace(/\/+$/, '').replace(known, '').replace(/\/+$/, '');
  url.pathname = `${base}${path}`;
  url.hash = '';
  return url.href;
}

/** Where the panel's pages are. */
export const panelRoot = '/settings/audit';
export const panelHome = `${panelRoot}/events`;
export const panelPathMax = 2_048;

const base = 'http://panel.invalid';

/**
 * Whether `text` leads to a page of the panel and nowhere else: an absolute path below
 * `/settings/audit`, perhaps with query and fragment, of at most 2,048 characters. What a browser
 * would read as another address than it looks like (`//host`, `\`, dot segments, control
 * characters, anything it would encode or drop) is none.
 */
export function isPanelPath(text: string): boolean {
  if (text.length > panelPathMax || /\/\/|\\/.test(text)) return false;
  if (!text.startsWith('/') || !URL.canParse(text, base)) return false;
  const { origin, pathname, search, hash } = new URL(text, base);
  // A text that the URL parser had to change means something else than what stands there.
  if (origin !== base || `${pathname}${search}${hash}` !== text) return false;
  return pathname === panelRoot || pathname.startsWith(`${panelRoot}/`);
}

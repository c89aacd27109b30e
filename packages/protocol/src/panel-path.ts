/** The root of the panel's pages. */
export const panelRoot = '/settings/audit';
export const panelHome = `${panelRoot}/events`;
export const panelPathMax = 2_048;

const base = 'http://panel.invalid';

/**
 * Whether `text` leads to a page of the panel and nowhere else: an absolute path below
 * `/settings/audit`, optionally with query and fragment, of at most 2,048 characters. Refuses text
 * that a browser would read as another address (`//host`, `\`, dot segments, control characters,
 * anything that it would encode or drop).
 */
export function isPanelPath(text: string): boolean {
  if (text.length > panelPathMax || /\/\/|\\/.test(text)) return false;
  if (!text.startsWith('/') || !URL.canParse(text, base)) return false;
  const { origin, pathname, search, hash } = new URL(text, base);
  // If the URL parser changed the text, it means something else than it shows.
  if (origin !== base || `${pathname}${search}${hash}` !== text) return false;
  return pathname === panelRoot || pathname.startsWith(`${panelRoot}/`);
}

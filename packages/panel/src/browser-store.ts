/* What this browser keeps. It may forbid that in a frame: then nothing is kept. */

/** The value under a key; null if there is none. */
export function kept(key: string): unknown {
  try {
    return JSON.parse(localStorage.getItem(key) ?? 'null');
  } catch {
    return null;
  }
}

/** Keeps a value that JSON can hold; null removes it. */
export function keep(key: string, value: unknown): void {
  try {
    if (value === null) localStorage.removeItem(key);
    else localStorage.setItem(key, JSON.stringify(value));
  } catch {
    // Forbidden or full: the value lasts as long as the page.
  }
}

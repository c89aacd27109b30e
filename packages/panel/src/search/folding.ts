/** Text without accents and case, so that "acao" finds "Ação". */
export function folded(text: string): string {
  return text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase();
}

/** Whether every word of `query` occurs in `text`, ignoring accents and case. */
export function finds(query: string, text: string): boolean {
  const within = folded(text);
  return folded(query)
    .split(/\s+/)
    .every((word) => within.includes(word));
}

import { folded } from '@indelible/protocol';

/** Whether every word of `query` occurs in `text`, ignoring accents and case. */
export function finds(query: string, text: string): boolean {
  const within = folded(text);
  return folded(query)
    .split(/\s+/)
    .every((word) => within.includes(word));
}

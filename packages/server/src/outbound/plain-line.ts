import { revealedLine } from '@indelible/protocol';

/** A name must neither start a line nor change the text direction. */
export function oneLine(text: string): string {
  return revealedLine(text.replace(/\s+/g, ' ').trim());
}

/** One line in which mail and chat programs find no address: the links of a message are our own. */
export function withoutLinks(text: string): string {
  return oneLine(text).replace(/[a-z][a-z0-9+.-]*:\/\/\S*|\bwww\.\S*/gi, '[…]');
}

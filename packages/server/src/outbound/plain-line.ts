import { revealedLine } from '@indelible/protocol';

/** A name must neither start a line nor change the text direction. */
export function oneLine(text: string): string {
  return revealedLine(text.replace(/\s+/g, ' ').trim());
}

/**
 * The characters by which programs recognise an address. A dot before a letter, also the full stops
 * that browsers read as one; dots of an IPv4 address with a path or port; the colon of a scheme,
 * which has a letter that no IPv6 address has; the start of a Windows share.
 */
const addressMarks = new RegExp(
  [
    /(?<=\S)[.。．｡․﹒](?=[\p{L}\p{M}])/u,
    /(?<=\d)[.。．｡․﹒](?=[\d.]{0,14}\d[/:?#])/u,
    /[:：﹕](?<=[g-z][a-z0-9+.-]*[:：﹕])(?=\S)(?!(?<=\d[:：﹕])\d)/u,
    /\\(?=\\)/u,
  ]
    .map(({ source }) => source)
    .join('|'),
  'giu',
);

/**
 * One line in which mail and chat programs find no address: `evil[.]example/login`, `mailto[:]ana`.
 * The links of a message are our own. The result stays the same if it is passed again.
 */
export function withoutLinks(text: string): string {
  return oneLine(text).replace(
    addressMarks,
    (mark) => `[${mark.normalize('NFKC').replace('。', '.')}]`,
  );
}

/** Text of others in a message of ours: in quotation marks that it cannot close, without links. */
export function quoted(text: string): string {
  return `“${withoutLinks(text).replace(/[“”„‟«»"]/g, "'")}”`;
}

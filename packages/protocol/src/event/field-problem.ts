/** A problem of one field of a request; `path` is a JSON Pointer (RFC 6901). */
export interface FieldProblem {
  path: string;
  code: string;
  message: string;
}

/** The most problems in one answer, so that a hostile body cannot cause a huge answer. */
export const fieldProblemsMax = 50;

const tokenCharactersMax = 256;

/**
 * One reference token of a JSON Pointer (RFC 6901 section 3). Lone surrogates become U+FFFD, and a
 * name over 256 characters is cut, so that a long key is not repeated 50 times.
 */
export function escapeToken(token: string): string {
  const text = token.slice(0, tokenCharactersMax).toWellFormed();
  return text.replaceAll('~', '~0').replaceAll('/', '~1');
}

/** The JSON Pointer of nested names and indexes; without any, the whole document. */
export function pointerOf(...tokens: (string | number)[]): string {
  return tokens.map((token) => `/${escapeToken(String(token))}`).join('');
}

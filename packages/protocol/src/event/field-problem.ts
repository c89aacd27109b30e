/** One thing wrong with one field of a request; `path` is a JSON Pointer (RFC 6901). */
export interface FieldProblem {
  path: string;
  code: string;
  message: string;
}

/** No answer lists more problems than this: a hostile body must not become a larger answer. */
export const fieldProblemsMax = 50;

const tokenCharactersMax = 256;

/**
 * One reference token of a JSON Pointer (RFC 6901 section 3), safe to send: lone surrogates become
 * U+FFFD, and a name over 256 characters is cut, so that a long hostile key is not echoed 50 times.
 */
export function escapeToken(token: string): string {
  const text = token.slice(0, tokenCharactersMax).toWellFormed();
  return text.replaceAll('~', '~0').replaceAll('/', '~1');
}

/** The JSON Pointer of these names and indexes, one below the other; none = the whole document. */
export function pointerOf(...tokens: (string | number)[]): string {
  return tokens.map((token) => `/${escapeToken(String(token))}`).join('');
}

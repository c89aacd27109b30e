/** A problem of one field of a request; `path` is a JSON Pointer (RFC 6901). */
export interface FieldProblem {
  path: string;
  code: string;
  message: string;
}

/** The most problems in one answer, so that a hostile body cannot cause a huge answer. */
export const fieldProblemsMax = 50;

/** The reasons that a refusal tells in one line. */
const reasonsMax = 5;
/** The shown part of a path: a batch has a thousand such lines, and a path may have kilobytes. */
const pathCharactersMax = 100;

/** The first problems as one text, for `detail`, logs and people who see no `errors`. */
export function problemsText(problems: readonly FieldProblem[]): string {
  const first = problems.slice(0, reasonsMax).map(problemText);
  const more = problems.length - first.length;
  return [...first, ...(more > 0 ? [`and ${more} more`] : [])].join('; ');
}

// The text for an unknown parameter contains its name already.
function problemText({ path, code, message }: FieldProblem): string {
  if (code === 'unknown_parameter' || path === '') return message;
  const isLong = path.length > pathCharactersMax;
  return `${isLong ? `${path.slice(0, pathCharactersMax).toWellFormed()}…` : path} ${message}`;
}

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

/** The kept part of a problem's path: a batch may have thousands, in one small answer. */
const pathOfProblemMax = 1_024;

/** The path, or that of the nearest object around it that is not too long. */
export function boundedPath(path: string): string {
  if (path.length <= pathOfProblemMax) return path;
  return path.slice(0, path.lastIndexOf('/', pathOfProblemMax));
}

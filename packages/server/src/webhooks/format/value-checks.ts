import type { ValueCheck } from './message-format.ts';

/* What customers may enter for a stream. Every check returns a clause for a field error. */

const credentialMax = 4_096;

/** Whether a credential is safe in a header: a line break would start another header. */
export const credentialProblem: ValueCheck = (credential) => {
  if (credential === '') return 'is empty';
  if (credential.length > credentialMax) return 'is longer than 4,096 characters';
  if (!/^[\x20-\x7e]*$/.test(credential)) {
    return 'holds line breaks, control characters or characters beyond ASCII';
  }
  return credential.trim() === credential ? null : 'begins or ends with a space';
};

/** A credential of this form; of another one `otherwise` is said. */
export function credentialLike(form: RegExp, otherwise: string): ValueCheck {
  return (credential) =>
    credentialProblem(credential) ?? (form.test(credential) ? null : otherwise);
}

export const unspacedProblem = credentialLike(/^\S*$/, 'holds a space');

/** The credential, checked again by `check` directly before it becomes a header. */
export function soundCredential(credential: string | null, check: ValueCheck): string {
  const problem = check(credential ?? '');
  if (problem !== null) throw new RangeError(`the credential ${problem}`);
  return credential ?? '';
}

/** URLs are shown and logged, so none of these parameters may contain a secret. */
export function urlCheck(...secretParameters: readonly string[]): ValueCheck {
  return (text) => {
    if (!URL.canParse(text)) return 'is no URL';
    const { hash, searchParams } = new URL(text);
    if (hash !== '') return 'has a fragment (#…), which is never sent';
    const secret = secretParameters.find((name) => searchParams.has(name));
    if (secret === undefined) return null;
    return `holds ${secret} in its query, where it is not protected: send it as the credential`;
  };
}

/** Printable text of at most `max` characters. */
export function plainText(max: number): ValueCheck {
  return (value) => {
    if (value === '') return 'is empty';
    if (value.length > max) return `is longer than ${max} characters`;
    return /\p{Cc}|\p{Cs}/u.test(value) ? 'holds control characters' : null;
  };
}

export function oneOf(...words: readonly string[]): ValueCheck {
  return (value) => (words.includes(value) ? null : `is none of ${words.join(', ')}`);
}

/**
 * The URL of a call at `path`, from a base URL or the path of a call: replaces what `known` matches
 * at the end. Keeps a path before it (a proxy's) and the query.
 */
export function callUrl(entered: string, known: RegExp, path: string): string {
  const url = new URL(entered);
  const base = url.pathname.replace(/\/+$/, '').replace(known, '').replace(/\/+$/, '');
  url.pathname = `${base}${path}`;
  url.hash = '';
  return url.href;
}

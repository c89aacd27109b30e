import type { ValueCheck } from './stream-format.ts';

/*
 * What customers may enter for a stream. Every check
 * answers with a clause, ready for a field error.
 */

const credentialMax = 4_096;

/**
 * Whether a credential can stand in a header as it is. A line break would end the header and begin
 * another one of the customer's making.
 */
export const credentialProblem: ValueCheck = (credential) => {
  if (credential === '') return 'is empty';
  if (credential.length > credentialMax) return 'is longer than 4,096 characters';
  if (!/^[\x20-\x7e]*$/.test(credential)) {
    return 'holds line breaks, control characters or characters beyond ASCII';
  }
  return credential.trim() === credential ? null : 'begins or ends with a space';
};

/** The credential, once more held against `check`: the last place before it becomes a header. */
export function soundCredential(credential: string | null, check: ValueCheck): string {
  const problem = check(credential ?? '');
  if (problem !== null) throw new RangeError(`the credential ${problem}`);
  return credential ?? '';
}

/** URLs are shown and logged, so none of these parameters may carry a secret in them. */
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

/** One of these words. */
export function oneOf(...words: readonly string[]): ValueCheck {
  return (value) => (words.includes(value) ? null : `is none of ${words.join(', ')}`);
}

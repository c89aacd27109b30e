/** What words and addresses may look like, the same for recording and for searching. */

import { emailLengthMax, wordLengthMax } from './limits.ts';

/** `snake_case`, the form of actions and resource types; `wordLengthMax` bounds it. */
export const snakeCasePattern = '^[a-z][a-z0-9]*(_[a-z0-9]+)*$';

export const snakeCaseExpression = new RegExp(snakeCasePattern);
const emailExpression = /^(?=.{3,320}$)[^\s@]+@[^\s@]+$/u;
const unprintable = /[\p{Cc}\p{Cs}\uFFFD]/u;
// Hangul fillers are letters to Unicode, and a pattern of Braille without a dot is a sign.
const visible = /(?![\p{Default_Ignorable_Code_Point}\u2800])[\p{L}\p{N}\p{P}\p{S}]/u;

/** Whether `text` is a snake_case word of at most 64 characters. */
export function isSnakeCase(text: string): boolean {
  return text.length <= wordLengthMax && snakeCaseExpression.test(text);
}

/**
 * Whether `text` has the form of an e-mail address: one `@` between two parts without white space,
 * printable, at most 320 characters. Deliberately no more: an audit log must be able to name
 * whoever another system let in. A leading `!` is refused, because filters use it to exclude.
 */
export function isEmail(text: string): boolean {
  return !text.startsWith('!') && emailExpression.test(text) && isPrintable(text);
}

/**
 * As `isEmail`, but for the length, which is judged apart, and a leading `!`: it only keeps an
 * address from being filtered by, and whoever tries to sign in under it must still be recorded.
 */
export function isRecordedEmail(text: string): boolean {
  return text.length > emailLengthMax || isEmail(text.replace(/^!+/, ''));
}

/** The form in which e-mail addresses are compared, filtered and sorted: lower case. */
export function emailKey(email: string): string {
  return email.toLowerCase();
}

/**
 * Whether `text` is free of control characters, lone surrogates
 * and U+FFFD, which a damaged encoding leaves behind.
 */
export function isPrintable(text: string): boolean {
  return !unprintable.test(text);
}

/** Whether whoever reads `text` sees anything: a letter, number, punctuation mark or sign. */
export function isVisible(text: string): boolean {
  return visible.test(text);
}

/** The format of words and addresses, for recording and for searching. */

import { emailLengthMax, reasonLength, reasonLengthMax, wordLengthMax } from './limits.ts';

/**
 * The form of actions and resource types: `snake_case` words with dots between them, such as
 * `update`, `user.login` and `2fa_enabled`. `wordLengthMax` limits the length.
 */
export const wordPattern = '^[a-z0-9]+(_[a-z0-9]+)*(\\.[a-z0-9]+(_[a-z0-9]+)*)*$';

const wordExpression = new RegExp(wordPattern);

/** The form of actions and resource types, in the words of error messages. */
export const wordForm = 'a snake_case word, or several with dots between them';
const emailExpression = /^(?=.{3,320}$)[^\s@]+@[^\s@]+$/u;
const unprintable = /[\p{Cc}\p{Cs}\uFFFD]/u;
// Zero-width and direction marks, variation selectors, tags, fillers, the blank Braille pattern.
const unseen = /[\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]/u;
const plainLine = /^[ -~]*$/;
let concealing: RegExp | undefined;
const joining = String.raw`[[\p{L}\p{M}]--[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\p{Default_Ignorable_Code_Point}\u2800]]`;
// Excludes Hangul fillers, which Unicode calls letters, and the blank Braille pattern, a sign.
const visible = /(?![\p{Default_Ignorable_Code_Point}\u2800])[\p{L}\p{N}\p{P}\p{S}]/u;

export function isWord(text: string): boolean {
  return text.length <= wordLengthMax && wordExpression.test(text);
}

/** The word that decides what an action is: `login` of `user.login`. */
export function lastWord(action: string): string {
  return action.slice(action.lastIndexOf('.') + 1);
}

/** A role as people write it: visible characters, with single spaces between words. */
export function isRole(text: string): boolean {
  return !/^ | $| {2}|[^\S ]/.test(text) && isPlainText(text);
}

/** The role of the operator team. Only exactly this text makes an event `crossTenant`. */
export const operatorRole = 'superadmin';

/**
 * Whether a role of at most 64 characters reads like the operator team's and is another one: in
 * other case, with separators, or in compatibility forms such as full width. Host products use
 * such names, so the event is recorded with a warning.
 */
export function resemblesOperator(role: string): boolean {
  if (role === operatorRole) return false;
  const letters = role.normalize('NFKC').toLowerCase();
  return letters.replace(/[^\p{L}\p{N}]/gu, '') === operatorRole;
}

/** The host's own id. A leading `!` is refused, because filters use it to exclude. */
export function isExternalId(text: string): boolean {
  return !text.startsWith('!') && text.trim() === text && isPlainText(text);
}

/** Counts characters, not their UTF-16 units. */
export function isLonger(text: string, max: number): boolean {
  return text.length > 2 * max || (text.length > max && [...text].length > max);
}

/** The first `max` characters of a text. */
export function cutText(text: string, max: number): string {
  return isLonger(text, max) ? [...text.slice(0, 2 * max)].slice(0, max).join('') : text;
}

/** A text with U+0000 and halves of surrogate pairs written as code points. */
export function repairedText(text: string): string {
  return text.replace(/\0|\p{Cs}/gu, codePointOf);
}

function isPlainText(text: string): boolean {
  return isPrintable(text) && !hidesCharacters(withoutJoined(text)) && isVisible(text);
}

/**
 * Whether `text` has the form of an e-mail address: one `@` between two parts without white space,
 * visible, at most 320 characters. It checks no more, because a log must be able to name every
 * user that another system accepts. A leading `!` is refused, because filters use it to exclude.
 */
export function isEmail(text: string): boolean {
  const isShown = isPrintable(text) && !hidesCharacters(text);
  return !text.startsWith('!') && emailExpression.test(text) && isShown;
}

/**
 * Like `isEmail`, but of any length, and with a leading `!`: no filter can find such an address,
 * but a sign-in attempt under it must be recorded.
 */
export function isRecordedEmail(text: string): boolean {
  return text.length > emailLengthMax || isEmail(text.replace(/^!+/, ''));
}

/** The lower-case form, in which e-mail addresses are compared, filtered and sorted. */
export function emailKey(email: string): string {
  return email.toLowerCase().normalize('NFC');
}

/**
 * Whether `text` has no control characters, no lone surrogates and no U+FFFD (a sign of a wrong
 * encoding).
 */
export function isPrintable(text: string): boolean {
  return !unprintable.test(text);
}

/** `text` without its emoji, and without the joiners of Persian and Indic words. */
function withoutJoined(text: string): string {
  return unseen.test(text) ? text.replace(concealed(), (_, hidden = '') => hidden) : text;
}

/** Whether `text` contains invisible characters, so that it may look like another text. */
function hidesCharacters(text: string): boolean {
  return unseen.test(text);
}

/**
 * `text` as a person may safely read it: control characters, marks that change text direction and
 * other invisible characters are written as code points, `⟨U+202E⟩`. Line breaks, tabs, and the
 * joiners within an emoji or a word of a joining script stay.
 */
export function revealed(text: string): string {
  return text.replace(concealed(), (found, hidden?: string) =>
    hidden === undefined || /[\n\r\t]/.test(hidden) ? found : codePointOf(hidden),
  );
}

/** `revealed` on one line, for terminals, mail and headers; `written` replaces code points. */
export function revealedLine(text: string, written = codePointOf): string {
  if (plainLine.test(text)) return text;
  return text.replace(concealed(), (found, hidden?: string) =>
    hidden === undefined ? found : written(hidden),
  );
}

/** Made at its first use, which no start needs: the list of emoji takes 10 ms. */
function concealed(): RegExp {
  // A whole emoji first, because joiners and selectors are invisible only outside of one. Between
  // Latin, Greek or Cyrillic letters a joiner changes nothing that can be seen.
  concealing ??= new RegExp(
    String.raw`\p{RGI_Emoji}|(?<=${joining})[\u200c\u200d](?=${joining})|([\p{Cc}\p{Cs}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800])`,
    'gv',
  );
  return concealing;
}

export function codePointOf(character: string): string {
  const point = character.codePointAt(0) ?? 0;
  return `⟨U+${point.toString(16).toUpperCase().padStart(4, '0')}⟩`;
}

/** Whether `text` contains a visible character: a letter, number, punctuation mark or sign. */
export function isVisible(text: string): boolean {
  return visible.test(text);
}

/** What is wrong with a declared reason, which people read as plain text; null if nothing is. */
export function reasonProblem(text: string): string | null {
  if (/\p{Cc}/u.test(text)) return 'must not hold control characters';
  if (!text.isWellFormed()) return 'must be well-formed Unicode';
  if (!isVisible(text)) return 'must not be blank';
  return isLonger(text.trim(), reasonLengthMax) ? `must have ${reasonLength}` : null;
}

const utf8 = new TextEncoder();

/** The first characters of a text that take at most `max` bytes of UTF-8. */
export function cutBytes(text: string, max: number): string {
  return text.slice(0, utf8.encodeInto(text, new Uint8Array(max)).read);
}

/** Whether `text` takes more than `max` bytes of UTF-8 (at most three per UTF-16 unit). */
export function exceedsBytes(text: string, max: number): boolean {
  if (text.length > max) return true;
  return text.length * 3 > max && utf8.encode(text).length > max;
}

/** The format of words and addresses, for recording and for searching. */

import { emailLengthMax, reasonLength, reasonLengthMax, wordLengthMax } from './limits.ts';

/** `snake_case`, the form of actions and resource types; `wordLengthMax` limits its length. */
export const snakeCasePattern = '^[a-z][a-z0-9]*(_[a-z0-9]+)*$';

export const snakeCaseExpression = new RegExp(snakeCasePattern);

/** Words with dots between them, the form of actions: `update`, `user.login`. */
export const actionPattern = '^[a-z][a-z0-9]*(_[a-z0-9]+)*(\\.[a-z][a-z0-9]*(_[a-z0-9]+)*)*$';

export const actionExpression = new RegExp(actionPattern);
const emailExpression = /^(?=.{3,320}$)[^\s@]+@[^\s@]+$/u;
const unprintable = /[\p{Cc}\p{Cs}\uFFFD]/u;
// Zero-width and direction marks, variation selectors, tags, fillers, the blank Braille pattern.
const unseen = /[\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]/u;
const plainLine = /^[ -~]*$/;
let concealing: RegExp | undefined;
// Excludes Hangul fillers, which Unicode calls letters, and the blank Braille pattern, a sign.
const visible = /(?![\p{Default_Ignorable_Code_Point}\u2800])[\p{L}\p{N}\p{P}\p{S}]/u;

export function isSnakeCase(text: string): boolean {
  return text.length <= wordLengthMax && snakeCaseExpression.test(text);
}

export function isAction(text: string): boolean {
  return text.length <= wordLengthMax && actionExpression.test(text);
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

function isPlainText(text: string): boolean {
  return isPrintable(text) && !hidesCharacters(text) && isVisible(text);
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
  return email.toLowerCase();
}

/**
 * Whether `text` has no control characters, no lone surrogates and no U+FFFD (a sign of a wrong
 * encoding).
 */
export function isPrintable(text: string): boolean {
  return !unprintable.test(text);
}

/** Whether `text` contains invisible characters, so that it may look like another text. */
function hidesCharacters(text: string): boolean {
  return unseen.test(text);
}

/**
 * `text` as a person may safely read it: control characters, marks that change text direction and
 * other invisible characters are written as code points, `⟨U+202E⟩`. Line breaks, tabs and the
 * joiners within an emoji stay.
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
  // A whole emoji first, because joiners and selectors are invisible only outside of one.
  // biome-ignore lint/complexity/useRegexLiterals: ES2022, the packages’ target, has no flag v
  concealing ??= new RegExp(
    String.raw`\p{RGI_Emoji}|([\p{Cc}\p{Cs}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800])`,
    'gv',
  );
  return concealing;
}

function codePointOf(character: string): string {
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

/** Whether `text` takes more than `max` bytes of UTF-8 (at most three per UTF-16 unit). */
export function exceedsBytes(text: string, max: number): boolean {
  if (text.length > max) return true;
  return text.length * 3 > max && utf8.encode(text).length > max;
}

/** IP addresses in their stored form. No Node modules, so it runs in browsers. */

const ipv4 = /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!$)|$)){4}$/;
const ipv6 = /^(?=.*:)[0-9a-f:.]{2,45}$/i;

/**
 * The stored form of an address: IPv4 unchanged, IPv6 by RFC 5952, an IPv4 address inside IPv6 in
 * dotted form (`::ffff:192.0.2.1`). Null for any other text, also for zones.
 */
export function canonicalIp(text: string): string | null {
  if (ipv4.test(text)) return text;
  // The URL standard defines how addresses are parsed and written, the same in every runtime.
  if (!ipv6.test(text) || !URL.canParse(`http://[${text}]`)) return null;
  const shown = new URL(`http://[${text}]`).hostname.slice(1, -1);
  const mapped = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(shown);
  return mapped ? `::ffff:${dotted(mapped[1], mapped[2])}` : shown;
}

function dotted(high = '', low = ''): string {
  const [upper, lower] = [Number.parseInt(high, 16), Number.parseInt(low, 16)];
  return [upper >> 8, upper & 255, lower >> 8, lower & 255].join('.');
}

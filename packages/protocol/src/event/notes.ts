import type { WarningCode } from '../error-codes.ts';
import type { JsonValue } from '../json/canonical.ts';
import { boundedPath, type FieldProblem, fieldProblemsMax } from './field-problem.ts';
import { cutText, repairedText } from './field-rules.ts';
import { asSentLengthMax, asSentPathsMax } from './limits.ts';
import type { Masker } from './masking.ts';

/** By the code of a warning: where in the event, as JSON Pointers. */
export type WarningPaths = { [Code in WarningCode]?: string[] };

const pathsMax = 20;

/** What was found while an event was taken: why it is refused, and what of it was changed. */
export class Notes {
  readonly problems: FieldProblem[] = [];
  readonly warningPaths: WarningPaths = {};
  readonly #asSent = new Map<string, string>();

  /** A reason to refuse the event. */
  refuse(path: string, code: string, message: string): void {
    if (this.problems.length < fieldProblemsMax) {
      this.problems.push({ path: boundedPath(path), code, message });
    }
  }

  warn(code: WarningCode, ...paths: readonly string[]): void {
    this.warningPaths[code] ??= [];
    const known = this.warningPaths[code];
    for (const path of paths.map(boundedPath)) {
      if (known.length < pathsMax && !known.includes(path)) known.push(path);
    }
  }

  get warnings(): WarningCode[] {
    return Object.keys(this.warningPaths) as WarningCode[];
  }

  /** `kept` is stored of the text that was sent. */
  cut(path: string, sent: string, kept: string): void {
    this.warn('truncated', path);
    if (!kept.startsWith(cutText(sent, asSentLengthMax))) this.#keep(path, sent);
  }

  /** Nothing is stored of the value that was sent, or it is stored with other characters. */
  dropped(path: string, sent: unknown): void {
    this.warn('value_dropped', path);
    this.#keep(path, typeof sent === 'string' ? sent : JSON.stringify(sent));
  }

  #keep(path: string, text: string): void {
    if (!this.#asSent.has(path) && this.#asSent.size < asSentPathsMax) this.#asSent.set(path, text);
  }

  /** Takes over what was found in a part of the event. */
  add(part: Notes): void {
    this.problems.push(...part.problems);
    for (const code of part.warnings) this.warn(code, ...(part.warningPaths[code] ?? []));
    for (const [path, text] of part.#asSent) this.#keep(path, text);
  }

  /**
   * The texts as they were sent, by JSON Pointer; undefined if there are none. Masked before they
   * are cut, because the beginning of a secret is not recognised.
   */
  asSent(masker: Masker): Record<string, string> | undefined {
    if (this.#asSent.size === 0) return undefined;
    const { value, masked } = masker.maskState(Object.fromEntries(this.#asSent) as JsonValue);
    if (masked) this.warn('secret_masked', '/asSent');
    return Object.fromEntries(
      Object.entries(value as Record<string, string>).map(([path, text]) => [
        path,
        cutText(repairedText(text), asSentLengthMax),
      ]),
    );
  }

  /** Keeps the texts of an event that was exported with them. */
  keepAsSent(sent: Readonly<Record<string, string>>): void {
    for (const [path, text] of Object.entries(sent)) this.#keep(path, text);
  }
}

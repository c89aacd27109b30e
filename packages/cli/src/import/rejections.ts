import { withCommas } from '@indelible/protocol';
import { shortened, visible } from '../text.ts';
import type { Line } from './line-splitter.ts';
import type { LineRefusal } from './source-line.ts';

/** The rejected lines with one problem. */
export interface Rejections {
  /** The member of the line; empty for the whole line. */
  path: string;
  code: string;
  count: number;
  /** What is wrong with the first of them. */
  message: string;
  /** Their numbers, at most the first thousand. */
  lines: number[];
  /** The beginning of the first of them. */
  text: string;
}

const groupsMax = 1_000;
const linesMax = 1_000;
const groupsShownMax = 20;
const textLengthMax = 200;

/** Groups rejected lines by path and code; a line with several problems is in several groups. */
export class RejectionGroups {
  readonly #groups = new Map<string, Rejections>();

  add(line: Line, { code, reason, errors }: LineRefusal): void {
    const problems = errors?.length ? errors : [{ path: '', code, message: reason }];
    for (const problem of problems) this.#note(line, problem);
  }

  #note(line: Line, { path, code, message }: { path: string; code: string; message: string }) {
    const group = this.#groups.get(`${code} ${path}`) ?? this.#begin(line, path, code, message);
    group.count += 1;
    if (group.lines.length < linesMax) group.lines.push(line.number);
  }

  /** Names of members may be data, so paths may be of any number. */
  #begin(line: Line, path: string, code: string, message: string): Rejections {
    const isFull = this.#groups.size >= groupsMax;
    const known = isFull ? this.#groups.get(`${code} other paths`) : undefined;
    if (known !== undefined) return known;
    const at = isFull ? 'other paths' : path;
    const text = line.bytes.toString('utf8', 0, textLengthMax * 4).slice(0, textLengthMax);
    const group = { path: at, code, count: 0, message, lines: [], text: text.toWellFormed() };
    this.#groups.set(`${code} ${at}`, group);
    return group;
  }

  /** The largest groups first. */
  get all(): Rejections[] {
    return [...this.#groups.values()].sort((a, b) => b.count - a.count);
  }

  /** For a terminal. */
  get texts(): string[] {
    const { all } = this;
    if (all.length === 0) return [];
    const shown = all.slice(0, groupsShownMax).flatMap(groupTexts);
    const more = all.length - groupsShownMax;
    const rest = more > 0 ? [`  and ${withCommas(more)} more groups: --json has them`] : [];
    return ['rejected, by path and code:', ...shown, ...rest];
  }
}

function groupTexts({ path, code, count, message, lines, text }: Rejections): string[] {
  const where = path === '' ? '' : `${visible(path)} `;
  return [
    `  ${withCommas(count)} × ${where}${code}: ${shortened(visible(message), 160)}`,
    `    line ${withCommas(lines[0] ?? 0)}: ${shortened(visible(text), 100)}`,
  ];
}

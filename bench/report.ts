import { writeFileSync } from 'node:fs';

/** How much a bench does. */
export interface Size {
  /** Events, or what else the bench is about. */
  count: number;
  /** Of each load. */
  seconds: number;
  /** How often a figure and its limit are measured. */
  rounds: number;
}

/** A figure, with those that were measured for it. */
interface Row {
  what: string;
  figure: string;
  target: string;
  met: string;
  /** One of each round. */
  values?: number[];
}

/** What is measured, and the limit that it is held against. */
export interface Pair {
  what: string;
  unit: string;
  measure: () => Promise<number>;
  limit: { what: string; measure: () => Promise<number> };
  /** The least ratio of the medians. */
  ratioMin: number;
}

/** Collects figures and prints them as they come, as a Markdown table row each. */
export class Report {
  readonly #rows: Row[] = [];

  add(what: string, figure: string, target = '', met = '', values?: number[]): void {
    const row = { what, figure, target, met, ...(values && { values }) };
    this.#rows.push(row);
    console.log(lineOf(row));
  }

  /**
   * Measures limit and figure in alternation, because the speed of a machine changes, and adds the
   * medians with what they lie between.
   */
  async compare({ what, unit, measure, limit, ratioMin }: Pair, rounds: number): Promise<void> {
    const limits: number[] = [];
    const values: number[] = [];
    for (let round = 0; round < rounds; round++) {
      limits.push(await limit.measure());
      values.push(await measure());
    }
    this.add(limit.what, spread(limits, unit), '', '', limits);
    this.add(what, spread(values, unit), '', '', values);
    this.ratio(`${what} / ${limit.what}`, median(values) / median(limits), ratioMin);
  }

  target(what: string, rate: number, target: number, unit: string, failures: number): void {
    const failed = failures > 0 ? `, ${failures} failed` : '';
    const figure = `${Math.round(rate)} ${unit}${failed}`;
    this.add(what, figure, `≥ ${target}`, rate >= target ? 'yes' : 'no', [rate]);
  }

  ratio(what: string, ratio: number, target: number): void {
    this.add(what, ratio.toFixed(2), `≥ ${target}`, ratio >= target ? 'yes' : 'no', [ratio]);
  }

  latency(
    what: string,
    p50: number,
    p99: number,
    p99Max: number,
    p50Max = Number.POSITIVE_INFINITY,
  ): void {
    const target = Number.isFinite(p50Max)
      ? `p50 ≤ ${p50Max} ms, p99 ≤ ${p99Max} ms`
      : `p99 < ${p99Max} ms`;
    const met = p99 <= p99Max && p50 <= p50Max ? 'yes' : 'no';
    this.add(what, `p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms`, target, met, [p50, p99]);
  }

  memory(when: string, bytes: number): void {
    const mib = Math.round(bytes / 2 ** 20);
    this.add(`memory of the service, ${when}`, `${mib} MiB`, '', '', [mib]);
  }

  print(): void {
    const lines = this.#rows.map(lineOf).join('\n');
    console.log(`\n| What | Figure | Target | Met |\n|---|---|---|---|\n${lines}`);
  }

  write(file: string, about: object): void {
    writeFileSync(file, `${JSON.stringify({ ...about, figures: this.#rows }, null, 2)}\n`);
  }
}

const lineOf = ({ what, figure, target, met }: Row) =>
  `| ${what} | ${figure} | ${target} | ${met} |`;

export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

const spread = (values: readonly number[], unit: string) =>
  `${Math.round(median(values))} ${unit} (${Math.round(Math.min(...values))} to ${Math.round(Math.max(...values))})`;

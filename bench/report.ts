import { writeFileSync } from 'node:fs';
import { percentile } from './load.ts';

/** How much a bench does. */
export interface Size {
  /** Events, or what else the bench is about. */
  count: number;
  /** The seconds of each load. */
  seconds: number;
  /** How often a figure and its limit are measured. */
  rounds: number;
}

/** What the median of a figure should be at least, or at most. */
export type Bound = { least: number } | { most: number };

/** What is measured, once a round, and the limit beside it: what the machine does without us. */
interface Pair {
  what: string;
  unit: string;
  measure: () => Promise<number>;
  limit: { what: string; measure: () => Promise<number> };
  target?: Bound;
  /** The bound of the ratio of the medians. */
  ratio?: Bound;
  /** Before each round, not measured. */
  prepare?: () => Promise<unknown>;
}

/** A pair of latencies, each side sorted. */
interface LatencyPair {
  what: string;
  /** Milliseconds, unless another unit is given. */
  unit?: string;
  measure: () => Promise<Float64Array>;
  limit: { what: string; measure: () => Promise<Float64Array> };
  p50Max?: number;
  p99Max?: number;
}

interface Row {
  what: string;
  figure: string;
  /** The limit, and the ratio to it. */
  beside: string;
  target: string;
  met: string;
  /** One of each round. */
  values?: number[];
  limits?: number[];
}

/** Collects figures and prints them as they come, as a Markdown table row each. */
export class Report {
  readonly #rows: Row[] = [];

  add(what: string, figure: string, target = '', isMet?: boolean, values?: number[]): void {
    const met = yesOrNo(isMet);
    this.#push({ what, figure, beside: '', target, met, ...(values && { values }) });
  }

  /**
   * Measures limit and figure in alternation, because the speed of a machine changes, and adds the
   * medians with what they lie between.
   */
  async compare({ what, unit, limit, ...pair }: Pair, rounds: number): Promise<void> {
    const limits: number[] = [];
    const values: number[] = [];
    for (let round = 0; round < rounds; round++) {
      await pair.prepare?.();
      limits.push(await limit.measure());
      values.push(await pair.measure());
    }
    const figure = median(values);
    const ratio = figure / median(limits);
    const bounds = [
      pair.target && told(pair.target, figure, ` ${unit}`),
      pair.ratio && told(pair.ratio, ratio, ' of the limit'),
    ].filter((bound) => bound !== undefined);
    this.#push({
      what,
      values,
      limits,
      figure: spread(values, unit),
      beside: `${ratio.toFixed(2)} of ${limit.what}: ${spread(limits, unit)}`,
      target: bounds.map(({ text }) => text).join(', '),
      met: yesOrNo(bounds.length === 0 ? undefined : bounds.every(({ isMet }) => isMet)),
    });
  }

  /** The medians of p50 beside those of the limit, then that of p99. */
  async compareLatencies(pair: LatencyPair, rounds: number): Promise<void> {
    const { what, unit = 'ms', p50Max, p99Max } = pair;
    const slowest: number[] = [];
    const measure = async () => {
      const latencies = await pair.measure();
      slowest.push(percentile(latencies, 0.99));
      return percentile(latencies, 0.5);
    };
    const limit = {
      what: `${pair.limit.what}, p50`,
      measure: async () => percentile(await pair.limit.measure(), 0.5),
    };
    const target = p50Max === undefined ? {} : { target: { most: p50Max } };
    await this.compare({ what: `${what}, p50`, unit, measure, limit, ...target }, rounds);
    this.atMost(`${what}, p99`, median(slowest), p99Max, unit);
  }

  atMost(what: string, value: number, most?: number, unit = 'ms'): void {
    const figure = `${short(value)} ${unit}`;
    if (most === undefined) this.add(what, figure, '', undefined, [value]);
    else this.add(what, figure, `≤ ${most} ${unit}`, value <= most, [value]);
  }

  latency(what: string, p50: number, p99: number, p99Max: number): void {
    const figure = `p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms`;
    this.add(what, figure, `p99 < ${p99Max} ms`, p99 <= p99Max, [p50, p99]);
  }

  memory(when: string, bytes: number): void {
    const mib = Math.round(bytes / 2 ** 20);
    this.add(`memory of the service, ${when}`, `${mib} MiB`, '', undefined, [mib]);
  }

  print(): void {
    const lines = this.#rows.map(lineOf).join('\n');
    const head = '| What | Figure | Limit beside it | Target | Met |\n|---|---|---|---|---|';
    console.log(`\n${head}\n${lines}`);
  }

  write(file: string, about: object): void {
    writeFileSync(file, `${JSON.stringify({ ...about, figures: this.#rows }, null, 2)}\n`);
  }

  #push(row: Row): void {
    this.#rows.push(row);
    console.log(lineOf(row));
  }
}

function told(bound: Bound, value: number, of: string): { text: string; isMet: boolean } {
  return 'least' in bound
    ? { text: `≥ ${bound.least}${of}`, isMet: value >= bound.least }
    : { text: `≤ ${bound.most}${of}`, isMet: value <= bound.most };
}

const yesOrNo = (is?: boolean) => (is === undefined ? '' : is ? 'yes' : 'no');

const lineOf = ({ what, figure, beside, target, met }: Row) =>
  `| ${what} | ${figure} | ${beside} | ${target} | ${met} |`;

export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

const spread = (values: readonly number[], unit: string) =>
  `${short(median(values))} ${unit} (${short(Math.min(...values))} to ${short(Math.max(...values))})`;

const short = (value: number) => (value < 100 ? value.toPrecision(2) : String(Math.round(value)));

/** Collects figures and prints them as they come, as a Markdown table row each. */
export class Report {
  readonly #rows: string[] = [];

  add(what: string, figure: string, target = '', met = ''): void {
    const row = `| ${what} | ${figure} | ${target} | ${met} |`;
    this.#rows.push(row);
    console.log(row);
  }

  target(what: string, rate: number, target: number, unit: string, failures: number): void {
    const failed = failures > 0 ? `, ${failures} failed` : '';
    this.add(
      what,
      `${Math.round(rate)} ${unit}${failed}`,
      `≥ ${target}`,
      rate >= target ? 'yes' : 'no',
    );
  }

  ratio(what: string, ratio: number, target: number): void {
    this.add(what, ratio.toFixed(2), `≥ ${target}`, ratio >= target ? 'yes' : 'no');
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
    this.add(what, `p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms`, target, met);
  }

  memory(when: string, bytes: number): void {
    this.add(`memory of the service, ${when}`, `${Math.round(bytes / 2 ** 20)} MiB`);
  }

  print(): void {
    console.log(`\n| What | Figure | Target | Met |\n|---|---|---|---|\n${this.#rows.join('\n')}`);
  }
}

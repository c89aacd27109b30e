import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { isUuid } from '@indelible/protocol';
import { UsageError } from '../io.ts';
import { grouped, visible } from '../text.ts';

/** One thing that is wrong, and of which tenant's log, if it is of one. */
export interface FsckFinding {
  tenantId: string | null;
  /** As in the reports of `indelible verify`, or of the published rounds. */
  code: string;
  message: string;
}

/** What a check of everything came to; `--json` prints it as it is. */
export interface FsckReport {
  what: 'installation';
  result: 'intact' | 'damaged';
  logs: {
    checked: number;
    entries: number;
    /** Logs without a checkpoint, of which only the storage was checked. */
    unpublished: number;
    /** Logs in which something absent rests on the service's word. */
    unproven: number;
    damaged: number;
  };
  rounds: { checked: number; checkpoints: number };
  /** `kept` has a few of each log, and 100 at most. */
  findings: { count: number; kept: FsckFinding[] };
  seconds: number;
}

const keptMax = 100;

function emptyReport(): FsckReport {
  return {
    what: 'installation',
    result: 'intact',
    logs: { checked: 0, entries: 0, unpublished: 0, unproven: 0, damaged: 0 },
    rounds: { checked: 0, checkpoints: 0 },
    findings: { count: 0, kept: [] },
    seconds: 0,
  };
}

/** Counts the findings, and keeps those that there is room for. */
export function addFindings(report: FsckReport, found: readonly FsckFinding[], count: number) {
  if (count === 0) return;
  report.result = 'damaged';
  report.findings.count += count;
  report.findings.kept.push(...found.slice(0, keptMax - report.findings.kept.length));
}

export function fsckText({ result, logs, rounds, findings }: FsckReport): string {
  const { checked, entries, unpublished, unproven, damaged } = logs;
  const lines = [
    `Logs      ${grouped(checked)}, with ${grouped(entries)} entries: ${grouped(damaged)} damaged`,
    `Rounds    ${grouped(rounds.checked)}, with ${grouped(rounds.checkpoints)} checkpoints`,
    ...(unpublished > 0 ? [`          ${grouped(unpublished)} logs have no checkpoint yet`] : []),
    ...(unproven > 0
      ? [`          ${grouped(unproven)} logs lack events, and do not prove why: verify each`]
      : []),
    `${result.toUpperCase()}: ${grouped(findings.count)} finding(s).`,
    ...findings.kept.map(findingLine),
  ];
  const more = findings.count - findings.kept.length;
  if (more > 0) lines.push(`  - and ${grouped(more)} more: run indelible verify for each tenant`);
  return `${lines.join('\n')}\n`;
}

function findingLine({ tenantId, code, message }: FsckFinding): string {
  const whose = tenantId === null ? '' : `tenant ${tenantId}: `;
  return `  - ${whose}${code}: ${visible(message)}`;
}

interface Kept {
  /** The last tenant whose log was checked. */
  after: string;
  report: FsckReport;
}

/** How far a check has come, in a file that survives the process; without a path it is not kept. */
export class RunFile {
  readonly #path: string | null;
  readonly after: string | null = null;
  readonly report: FsckReport = emptyReport();

  /** Throws UsageError for a file that holds something else. */
  constructor(path: string | null) {
    this.#path = path;
    const text = path === null ? null : readIfThere(path);
    if (text === null) return;
    const kept = parsed(text);
    if (kept === null) throw new UsageError(`${path} is not a file of indelible fsck --resume`);
    this.after = kept.after;
    this.report = kept.report;
  }

  save(after: string): void {
    if (this.#path === null) return;
    const kept: Kept = { after, report: this.report };
    const draft = `${this.#path}.tmp`;
    writeFileSync(draft, `${JSON.stringify(kept)}\n`, { mode: 0o600 });
    renameSync(draft, this.#path); // an interruption leaves the former file
  }

  remove(): void {
    if (this.#path !== null) rmSync(this.#path, { force: true });
  }
}

function readIfThere(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw new UsageError(`${path} cannot be read`, { cause: error });
  }
}

function parsed(text: string): Kept | null {
  try {
    const { after, report } = JSON.parse(text) as Partial<Kept>;
    const isReport = report?.what === 'installation' && Array.isArray(report.findings?.kept);
    return isUuid(after ?? '') && isReport && after ? { after, report } : null;
  } catch {
    return null;
  }
}

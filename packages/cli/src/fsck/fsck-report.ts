import { rmSync } from 'node:fs';
import { counted, isUuid, withCommas } from '@indelible/protocol';
import { sentenceOf, UsageError } from '../io.ts';
import { readIfThere, requireFolderOf, writeWhole } from '../kept-file.ts';
import { visible } from '../text.ts';

/** One thing that is wrong, and of which tenant's log, if it is of one. */
export interface FsckFinding {
  tenantId: string | null;
  /** A code of the reports of `indelible verify`, or of the published rounds. */
  code: string;
  message: string;
}

export type FsckReport = ReturnType<typeof emptyReport>;

const keptMax = 100;

/**
 * What a check of everything came to; `--json` prints it as it is. `unpublished` logs have no
 * checkpoint: only their storage was checked. In `unproven` logs something absent rests on the
 * service's word. `kept` has a few findings of each log, and 100 at most.
 */
function emptyReport() {
  return {
    what: 'installation' as const,
    result: 'intact' as 'intact' | 'damaged',
    logs: { checked: 0, entries: 0, unpublished: 0, unproven: 0, damaged: 0 },
    rounds: { checked: 0, checkpoints: 0 },
    findings: { count: 0, kept: [] as FsckFinding[] },
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
    `Logs      ${withCommas(checked)}, with ${counted(entries, 'entry', 'entries')}: ${withCommas(damaged)} damaged`,
    `Rounds    ${withCommas(rounds.checked)}, with ${counted(rounds.checkpoints, 'checkpoint')}`,
    ...(unpublished > 0
      ? [`          ${counted(unpublished, 'log has', 'logs have')} no checkpoint yet`]
      : []),
    ...(unproven > 0
      ? [
          `          ${counted(unproven, 'log lacks events and does', 'logs lack events and do')} not prove why: verify each`,
        ]
      : []),
    `${result.toUpperCase()}: ${counted(findings.count, 'finding')}.`,
    ...findings.kept.map(findingLine),
  ];
  const more = findings.count - findings.kept.length;
  if (more > 0)
    lines.push(`  - and ${withCommas(more)} more: run indelible verify for each tenant`);
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

  /** Throws UsageError for a file that holds something else, or cannot be made. */
  constructor(path: string | null) {
    this.#path = path;
    if (path !== null) requireFolderOf(path);
    const kept = path === null ? null : keptIn(path);
    if (kept !== null) ({ after: this.after, report: this.report } = kept);
  }

  save(after: string): void {
    if (this.#path === null) return;
    const kept: Kept = { after, report: this.report };
    writeWhole(this.#path, `${JSON.stringify(kept)}\n`); // an interruption leaves the former file
  }

  remove(): void {
    if (this.#path !== null) rmSync(this.#path, { force: true });
  }
}

function keptIn(path: string): Kept | null {
  try {
    const text = readIfThere(path);
    if (text === null) return null;
    const { after, report } = JSON.parse(text) as Partial<Kept>;
    const isReport = report?.what === 'installation' && Array.isArray(report.findings?.kept);
    if (isReport && after && isUuid(after)) return { after, report };
  } catch (cause) {
    if (!(cause instanceof SyntaxError)) {
      throw new UsageError(`${path} cannot be read: ${sentenceOf(cause)}`, { cause });
    }
  }
  throw new UsageError(`${path} is not a file of indelible fsck --resume`);
}

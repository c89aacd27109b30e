import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { isUuid } from '@indelible/protocol';
import { UsageError } from '../io.ts';
import { emptyReport, type FsckReport } from './fsck-report.ts';

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

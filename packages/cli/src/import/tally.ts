import { withCommas } from '@indelible/protocol';
import { aligned, visible } from '../text.ts';
import { RejectionGroups } from './rejections.ts';

export type Tally = ReturnType<typeof newTally>;

/** A source id with two different events. */
export interface Conflict {
  sourceId: string;
  tenantId: string;
  firstLine: number;
  line: number;
}

const conflictsShownMax = 20;

/** The progress of an import. `lines` counts non-empty lines. */
export function newTally(dryRun = false) {
  return {
    /** Nothing is stored: `created` counts what a service would take. */
    dryRun,
    lines: 0,
    lastLine: 0,
    created: 0,
    duplicates: 0,
    /** Lines that name another tenant than `--tenant`, and are recorded there. */
    moved: 0,
    rejected: 0,
    rejectedByCode: new Map<string, number>(),
    rejections: new RejectionGroups(),
    warnings: new Map<string, number>(),
    tenantsCreated: 0,
    conflicts: 0,
    /** The first 20; the file contains all of them. */
    firstConflicts: [] as Conflict[],
  };
}

export function countIn(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

export function addConflict(tally: Tally, conflict: Conflict): void {
  tally.conflicts += 1;
  if (tally.firstConflicts.length < conflictsShownMax) tally.firstConflicts.push(conflict);
}

/** The progress in one line. */
export function countsText({ dryRun, lines, created, duplicates, rejected }: Tally): string {
  const taken = `${withCommas(created)} ${dryRun ? 'valid' : 'created'}`;
  const parts = [`${withCommas(lines)} lines`, taken];
  if (duplicates > 0) parts.push(`${withCommas(duplicates)} duplicates`);
  if (rejected > 0) parts.push(`${withCommas(rejected)} rejected`);
  return parts.join(', ');
}

/** How an import ended. */
export interface Ending {
  seconds: number;
  interrupted: boolean;
  /** Written files. */
  rejectedFile: string | null;
  conflictsFile: string | null;
}

/** The summary for programs. */
export function summaryJson(tally: Tally, ending: Ending): Record<string, unknown> {
  const { firstConflicts, conflicts, rejectedByCode, rejections, warnings, ...counts } = tally;
  return {
    ...counts,
    rejectedByCode: Object.fromEntries(rejectedByCode),
    rejections: rejections.all,
    warnings: Object.fromEntries(warnings),
    conflicts: { count: conflicts, first: firstConflicts, file: ending.conflictsFile },
    rejectedFile: ending.rejectedFile,
    eventsPerSecond: eventsPerSecond(tally, ending),
    seconds: Math.round(ending.seconds * 100) / 100,
    interrupted: ending.interrupted,
  };
}

/** The summary for people. */
export function summaryText(tally: Tally, ending: Ending): string {
  const rows: [string, string][] = [
    ['lines', withCommas(tally.lines)],
    [tally.dryRun ? 'would be created' : 'created', withCommas(tally.created)],
    ['duplicates', withCommas(tally.duplicates)],
    ['rejected', withCommas(tally.rejected) + details(tally.rejectedByCode, ending.rejectedFile)],
    [
      'conflicting sourceIds',
      withCommas(tally.conflicts) + details(new Map(), ending.conflictsFile),
    ],
    ['tenants created', withCommas(tally.tenantsCreated)],
    [
      'seconds',
      `${ending.seconds.toFixed(1)} (${withCommas(eventsPerSecond(tally, ending))} events/s)`,
    ],
  ];
  if (tally.moved > 0)
    rows.push(['of other tenants', `${withCommas(tally.moved)} lines, moved to that of --tenant`]);
  if (tally.warnings.size > 0) rows.push(['warnings', counted(tally.warnings)]);
  const lines = [...tally.rejections.texts, ...conflictLines(tally), ...advice(tally)];
  return aligned(rows) + lines.map((line) => `${line}\n`).join('');
}

function eventsPerSecond({ created, duplicates }: Tally, { seconds }: Ending): number {
  return seconds === 0 ? 0 : Math.round((created + duplicates) / seconds);
}

function details(counts: ReadonlyMap<string, number>, file: string | null): string {
  const codes = counts.size === 0 ? '' : ` (${counted(counts)})`;
  return file === null ? codes : `${codes}, see ${visible(file)}`;
}

function counted(counts: ReadonlyMap<string, number>): string {
  return [...counts].map(([code, count]) => `${code} ${withCommas(count)}`).join(', ');
}

function conflictLines({ conflicts, firstConflicts }: Tally): string[] {
  if (conflicts === 0) return [];
  const lines = firstConflicts.map(({ sourceId, tenantId, firstLine, line }) => {
    return `  ${visible(sourceId)} of tenant ${tenantId}: lines ${firstLine} and ${line}`;
  });
  const more = conflicts - firstConflicts.length;
  const rest = more === 0 ? [] : [`  and ${withCommas(more)} more`];
  return ['one sourceId, different content:', ...lines, ...rest];
}

function advice({ dryRun, rejectedByCode }: Tally): string[] {
  if (dryRun) {
    return [
      'dry run: nothing is stored. Only the service knows whether a tenant exists, how long its',
      'plan keeps events, and whether a former import stored a sourceId with other content.',
    ];
  }
  if (!rejectedByCode.has('unknown_tenant')) return [];
  return ['the import can create unknown tenants: --create-tenants <plan>'];
}

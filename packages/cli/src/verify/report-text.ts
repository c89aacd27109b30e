import { counted, sizedCheckpoint, withCommas } from '@indelible/protocol';
import { aligned, visible } from '../text.ts';
import { type Checked, type FirstDamage, isOnlyAnother, type Report } from './report.ts';
import type { KeySource } from './trusted-checkpoint.ts';

const shownMax = 20;

const entries = (count: number) => counted(count, 'entry', 'entries');

const keyText = (source: KeySource) =>
  source === 'pinned'
    ? 'a key given with --vkey'
    : `a key from the ${source} itself: pass it with --vkey once you know it from another source`;

/** The report as text: checkpoint, checks, findings, conclusions. */
export function reportText(report: Report): string {
  const parts = [
    checkpointText(report),
    section('Checked', checkedLines(report)),
    `${report.result.toUpperCase()}: ${visible(report.summary)}\n`,
    section('Not proven', report.unproven),
    report.result === 'damaged' ? findingsText(report) : section('It follows', report.follows),
    report.checkpoint === null ? '' : section('Not proven', report.doesNotFollow),
  ];
  return parts.filter((part) => part !== '').join('\n');
}

function checkpointText({ what, subject, checkpoint, seenBefore }: Report): string {
  const head = `${what === 'log' ? 'The log of tenant' : `The ${what}`} ${visible(subject)}`;
  if (checkpoint === null) return `${head}\n`;
  const { origin, size, root, signedBy, keysFrom } = checkpoint;
  const rows = {
    origin,
    size: entries(size),
    root,
    'signed by': signedBy.join(', '),
    which: `is ${keyText(keysFrom)}`,
    ...(what === 'log' ? { 'seen before': seenText(seenBefore) } : {}),
  };
  const shown = Object.entries(rows).map(([name, text]) => [name, visible(text)] as const);
  return `${head}, against the checkpoint\n${indented(aligned(shown))}`;
}

function seenText(seen: Report['seenBefore']): string {
  if (seen === null) return 'none: this machine has not verified this log before';
  return `one of ${entries(seen.size)}, at ${seen.seenAt}`;
}

function checkedLines({ checked, cutoff }: Report): string[] {
  const lines: string[] = [];
  const add = (count: number | undefined, one: string, many: string, what: string) => {
    if (count !== undefined && count > 0) lines.push(`${counted(count, one, many)}${what}`);
  };
  add(checked.files, 'file', 'files', ': checksums');
  add(checked.entries, 'entry', 'entries', ': format, order of receipt, hashes, root');
  add(checked.tiles, 'hash tile', 'hash tiles', ', as kept');
  lines.push(...bodyLines(checked, cutoff));
  return lines;
}

function bodyLines({ bodies, newer }: Checked, cutoff: string | null): string[] {
  if (bodies === undefined) return [];
  const { intact, withheld, erased = {}, expired, stated, unjudged } = bodies;
  const lines = [
    `${counted(intact, 'event that matches', 'events that match')} the log: ` +
      'content, id, receipt time, derived fields',
  ];
  for (const [name, count] of Object.entries(withheld)) {
    if (count > 0) lines.push(`${withCommas(count)} of them with their ${name} withheld`);
  }
  for (const [name, { events, records }] of Object.entries(erased)) {
    lines.push(
      `${withCommas(events)} of them with their ${name} erased, as recorded at sequence ${records.join(', ')}`,
    );
  }
  if (expired > 0) {
    lines.push(`${entries(expired)} without an event: all from before the cutoff ${cutoff}`);
  }
  if (stated > 0) lines.push(`${entries(stated)} without an event: the log does not prove why`);
  if (unjudged > 0) lines.push(`${entries(unjudged)} that could not be read, nor their events`);
  if (newer !== undefined) {
    lines.push(
      `${counted(newer.events, 'event')} recorded since: each has an entry, up to ` +
        `${withCommas(newer.size)}, which no signature covers yet`,
    );
  }
  return lines;
}

function findingsText({ checkpoint, firstDamage, findings }: Report): string {
  const isNone = checkpoint === null || isOnlyAnother(findings);
  const unknown = isNone ? '' : 'The first damaged entry is unknown.\n\n';
  const first = firstDamage === null ? unknown : `${positionText(firstDamage)}\n\n`;
  const shown = findings.kept.slice(0, shownMax);
  // The checkpoint was named at the top.
  const named = checkpoint && sizedCheckpoint({ ...checkpoint, root: new Uint8Array() });
  const against = named === null ? '' : `Against ${named}: `;
  const lines = shown.map(({ code, message }) => `${code}: ${message.replace(against, '')}`);
  const more = findings.count - shown.length;
  if (more > 0) lines.push(`and ${withCommas(more)} more (--json shows up to 100)`);
  return `${first}${section('Found', lines)}`;
}

function positionText(position: FirstDamage): string {
  const { sequence, lastSequence, eventId, timestamp, loggedEventId } = position;
  if (lastSequence > sequence) {
    return (
      `The first damage: an entry from sequence ${sequence} to ${lastSequence}; which one ` +
      'is unknown'
    );
  }
  const event = eventId ?? 'an event whose id is not known';
  const of = timestamp === null ? '' : `, of ${timestamp}`;
  const logged = loggedEventId === null ? '' : `; logged there: ${loggedEventId}`;
  return visible(`The first damage: sequence ${sequence}, ${event}${of}${logged}`);
}

function section(title: string, lines: readonly string[]): string {
  if (lines.length === 0) return '';
  return `${title}\n${lines.map((line) => `  - ${visible(line)}\n`).join('')}`;
}

function indented(text: string): string {
  return text.replace(/^(?=.)/gm, '  ');
}

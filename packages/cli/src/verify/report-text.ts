import { sizedCheckpoint } from '@indelible/protocol';
import { aligned, grouped, visible } from '../text.ts';
import type { Checked, FirstDamage, Report } from './report.ts';

const shownMax = 20;

const keysText = {
  pinned: 'a key given with --vkey',
  service:
    'a key that the service itself states: pin it with --vkey once you know it from elsewhere',
  bundle: 'a key that comes with the bundle: it is as good as its source; pin it with --vkey',
  archive: 'a key that comes with the archive: it is as good as its source; pin it with --vkey',
};

/** The report for people: against what, what was checked, what was found, what follows. */
export function reportText(report: Report): string {
  const parts = [
    checkpointText(report),
    section('Checked', checkedLines(report)),
    `${report.result.toUpperCase()}: ${visible(report.summary)}\n`,
    section('Not proven', report.unproven),
    report.result === 'damaged' ? findingsText(report) : section('It follows', report.follows),
    report.checkpoint === null ? '' : section('It does not follow', report.doesNotFollow),
  ];
  return parts.filter((part) => part !== '').join('\n');
}

function checkpointText({ what, subject, checkpoint, seenBefore }: Report): string {
  const head = `${what === 'log' ? 'The log of tenant' : `The ${what}`} ${visible(subject)}`;
  if (checkpoint === null) return `${head}\n`;
  const { origin, size, root, signedBy, keysFrom } = checkpoint;
  const rows = {
    origin,
    size: `${grouped(size)} entries`,
    root,
    'signed by': signedBy.join(', '),
    which: `is ${keysText[keysFrom]}`,
    ...(what === 'log' ? { 'seen before': seenText(seenBefore) } : {}),
  };
  const shown = Object.entries(rows).map(([name, text]) => [name, visible(text)] as const);
  return `${head}, against the checkpoint\n${indented(aligned(shown))}`;
}

function seenText(seen: Report['seenBefore']): string {
  if (seen === null) return 'none: this machine verifies this log for the first time';
  return `one of ${grouped(seen.size)} entries, at ${seen.seenAt}`;
}

function checkedLines({ checked, cutoff }: Report): string[] {
  const lines: string[] = [];
  const add = (count: number | undefined, text: string) => {
    if (count !== undefined && count > 0) lines.push(`${grouped(count)} ${text}`);
  };
  add(checked.files, 'files: their checksums');
  add(checked.entries, 'entries: format, order of receipt, hashes, root');
  add(checked.tiles, 'hash tiles, as they are kept');
  lines.push(...bodyLines(checked, cutoff));
  add(checked.rows, 'rows of CSV: every cell, their order, none missing');
  return lines;
}

function bodyLines({ bodies, newer }: Checked, cutoff: string | null): string[] {
  if (bodies === undefined) return [];
  const { intact, withheld, erased = {}, expired, stated, outside, unjudged } = bodies;
  const lines = [
    `${grouped(intact)} events that are what was logged: content, id, time of receipt, derived fields`,
  ];
  for (const [name, count] of Object.entries(withheld)) {
    if (count > 0) lines.push(`${grouped(count)} of them with their ${name} withheld`);
  }
  for (const [name, { events, records }] of Object.entries(erased)) {
    lines.push(
      `${grouped(events)} of them with their ${name} erased, as recorded at sequence ${records.join(', ')}`,
    );
  }
  if (expired > 0) {
    lines.push(`${grouped(expired)} entries without event: all from before the cutoff ${cutoff}`);
  }
  if (stated > 0) lines.push(`${grouped(stated)} entries without event: nothing proves why`);
  const elsewhere = outside + unjudged;
  if (elsewhere > 0) lines.push(`${grouped(elsewhere)} entries without event: not asked for`);
  if (newer !== undefined) {
    lines.push(
      `${grouped(newer.events)} events recorded since: each has its entry, up to ` +
        `${grouped(newer.size)}, which no signature covers yet`,
    );
  }
  return lines;
}

function findingsText({ checkpoint, firstDamage, findings }: Report): string {
  const first = firstDamage === null ? 'Where it begins cannot be told.' : placeText(firstDamage);
  const shown = findings.kept.slice(0, shownMax);
  // Which checkpoint it is against has been said at the top.
  const named = checkpoint && sizedCheckpoint({ ...checkpoint, root: new Uint8Array() });
  const against = named === null ? '' : `Against ${named}: `;
  const lines = shown.map(({ code, message }) => `${code}: ${message.replace(against, '')}`);
  const more = findings.count - shown.length;
  if (more > 0) lines.push(`and ${grouped(more)} more (--json shows up to 100)`);
  return `${first}\n\n${section('Found', lines)}`;
}

function placeText(place: FirstDamage): string {
  const { sequence, lastSequence, eventId, timestamp, loggedEventId } = place;
  if (lastSequence > sequence) {
    return `The first damage: an entry from sequence ${sequence} to ${lastSequence}; which, cannot be told`;
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

import {
  type CapsuleContent,
  capsuleParts,
  createFindings,
  type NamedFilter,
  unknownPairs,
  verifyCapsule,
} from '@indelible/protocol';
import { sentenceOf, UsageError } from '../io.ts';
import { sha } from './hashing.ts';
import { readAtMost } from './read-at-most.ts';
import { type Report, verified } from './report.ts';
import { type KeySource, trustedCheckpoint } from './trusted-checkpoint.ts';

/** Verifies an evidence capsule as its own page does, but with a program from elsewhere. */
export async function verifyCapsuleFile(path: string, vkeys: readonly string[]): Promise<Report> {
  const parts = capsuleParts(textOf(path));
  if (parts === null) throw new UsageError(`${path} is not an evidence capsule`);
  const pinned = vkeys.length > 0 ? vkeys : undefined;
  return verified('capsule', path, undefined, async ({ findings }) => {
    const { content, problems } = await verifyCapsule(sha, parts, pinned);
    for (const problem of problems) findings.add('malformed_file', problem);
    return content === null ? { signed: null } : concluded(content, pinned);
  });
}

/**
 * So that a hostile file does not fill the memory. A service that counted letters, not bytes, made
 * capsules of up to 200 MiB: they are evidence too.
 */
const capsuleBytesMax = 256 * 2 ** 20;

function textOf(path: string): string {
  try {
    return readAtMost(path, capsuleBytesMax);
  } catch (error) {
    throw new UsageError(`${path} cannot be read: ${sentenceOf(error)}`);
  }
}

async function concluded(content: CapsuleContent, pinned: readonly string[] | undefined) {
  const { data, matches, inRange, unseen, isSaved, unknownValues } = content;
  const source: KeySource = pinned === undefined ? 'capsule' : 'pinned';
  const keys = { source, vkeys: [...(pinned ?? data.vkeys)] };
  const note = new TextEncoder().encode(data.checkpoint);
  const signed = await trustedCheckpoint(note, keys, createFindings());
  const { from, to, ...criteria } = data.search.filters;
  return {
    signed,
    follows: [
      // The page may show another search: an attacker can replace its program.
      `The log of tenant ${data.tenant.id} has ${inRange} events from ${from} to ${to}; exactly ` +
        `${matches.length} of those whose content is left match ${JSON.stringify(criteria)}.`,
      'The log recorded the hash of the data when the capsule was made.',
    ],
    unproven: [
      ...unknownPairs(unknownValues).map((pair) => unknownText(...pair)),
      ...(unseen > 0 ? [`Whether ${unseen} events match: their content is gone.`] : []),
      ...(isSaved ? [] : [`The saved result of ${data.search.matched} matches.`]),
    ],
    doesNotFollow: [
      'That nothing else happened: a system may not have reported it.',
      'What the capsule says of coverage: the service states it, and the log only recorded that.',
    ],
  };
}

/** Why nothing follows about a person or resource of a filter. */
const unknownText = (name: NamedFilter, value: string) =>
  `Anything about ${name} ${JSON.stringify(value)}: it occurs in no event that is shown, so it ` +
  'may be misspelt.';

import { type FieldProblem, fieldProblemsMax, pointerOf } from '@indelible/protocol';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { fieldProblem, formats } from '../http/json-schema.ts';
import { EventInput, limits } from './schemas.ts';

const ajv = new Ajv2020({ allErrors: true, strict: true, allowUnionTypes: true, formats });
const validate = ajv.compile(EventInput);

/** More members than any object of an event may have, other than its diff and states. */
export const membersMax = 32;

/**
 * Problems of shape, all at once; paths that `known` names already are not reported a second time.
 * Of an object with hundreds of members too many, that alone is said.
 */
export function checkEventShape(event: unknown, known: readonly FieldProblem[]): FieldProblem[] {
  const { actor, resource, diff } = (event ?? {}) as Record<string, unknown>;
  const crowds = [
    ...crowd(event, membersMax),
    ...crowd(actor, membersMax, 'actor'),
    ...crowd(resource, membersMax, 'resource'),
  ];
  const inDiff = crowd(diff, limits.diffFieldsMax, 'diff');
  const diffIsCrowded = inDiff.length > 0;
  if (!diffIsCrowded) checkChanges(diff, inDiff, crowds);
  // Ajv makes an error of every wrong member, a million if need be, so it never sees a crowd.
  if (crowds.length > 0) return crowds.slice(0, fieldProblemsMax);
  const isFine = validate(diffIsCrowded ? { ...(event as object), diff: {} } : event);
  const errors = isFine ? [] : (validate.errors ?? []).slice(0, fieldProblemsMax);
  const named = new Set(known.map((problem) => problem.path));
  return [...errors.map(fieldProblem), ...inDiff].filter((problem) => !named.has(problem.path));
}

function crowd(value: unknown, max: number, ...path: string[]): FieldProblem[] {
  if (typeof value !== 'object' || value === null || Object.keys(value).length <= max) return [];
  return [{ path: pointerOf(...path), code: 'too_many', message: `has more than ${max} members` }];
}

// JSON Schema counts characters; the limit is in bytes, and only long strings need the exact count.
function checkChanges(diff: unknown, problems: FieldProblem[], crowds: FieldProblem[]): void {
  if (typeof diff !== 'object' || diff === null) return;
  for (const [field, change] of Object.entries(diff)) {
    if (typeof change !== 'object' || change === null) continue;
    crowds.push(...crowd(change, membersMax, 'diff', field));
    for (const [side, value] of Object.entries(change)) {
      if (typeof value !== 'string' || value.length * 3 <= limits.diffStringBytesMax) continue;
      if (Buffer.byteLength(value) <= limits.diffStringBytesMax) continue;
      problems.push({
        path: pointerOf('diff', field, side),
        code: 'too_long',
        message: 'is larger than 32 KiB',
      });
    }
  }
}
